# SPDX-License-Identifier: Apache-2.0
"""PNG figures."""

import os

from tools.simulation import paper
from tools.simulation.errors import SimulationError

STYLES = {'stock': '-', 'lightsync-unbatched': '--', 'lightsync': ':'}
COLOURS = {2: 'tab:blue', 3: 'tab:green', 4: 'tab:orange', 5: 'tab:red'}


def _pyplot():
    try:
        import matplotlib
    except ImportError:
        raise SimulationError(
            'figures need matplotlib: pip install swift-lightsync[simulation]')
    matplotlib.use('Agg')
    from matplotlib import pyplot
    return pyplot


def _save(pyplot, figure, directory, name):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name + '.png')
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    print('wrote %s' % path)


def _panels(title):
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5))
    figure.suptitle(title)
    axes[0].set_ylabel('sync delay (minutes)')
    axes[1].set_ylabel('network overhead (MB a node)')
    return pyplot, figure, axes


def curves(directory, name, title, points, scenario):
    """
    Delay and bytes over n, with the paper's numbers as stars.

    :param points: a dict, (replicas, objects, protocol) to
        (minutes, MB)
    """
    pyplot, figure, axes = _panels(title)
    for replicas in paper.REPLICAS:
        for protocol in paper.PROTOCOLS:
            found = sorted((key[1], value) for key, value in points.items()
                           if key[0] == replicas and key[2] == protocol)
            for index, axis in enumerate(axes):
                axis.plot([n for n, _ in found],
                          [value[index] for _, value in found],
                          STYLES[protocol], color=COLOURS[replicas],
                          label='%s r=%d' % (protocol, replicas))
    for protocol in paper.PROTOCOLS:
        numbers = paper.NUMBERS.get((paper.LAB_NODES, scenario, protocol))
        for index, value in enumerate(numbers or ()):
            if value is not None:
                axes[index].plot([paper.OBJECTS[-1]], [value], 'k*',
                                 markersize=9)
    for axis in axes:
        axis.set_xscale('log')
        axis.set_yscale('log')
        axis.set_xlabel('objects a node (n); stars: the paper, r=5')
    axes[0].legend(fontsize=6)
    _save(pyplot, figure, directory, name)


def bars(directory, name, title, values, order):
    """
    Delay and bytes by scenario.

    :param values: a dict, (scenario, series) to (minutes, MB)
    :param order: the series
    """
    pyplot, figure, axes = _panels(title)
    scenarios = list(dict.fromkeys(scenario for scenario, _ in values))
    width = 0.8 / len(order)
    for position, series in enumerate(order):
        for index, axis in enumerate(axes):
            known = [(at + position * width, values[scenario, series][index])
                     for at, scenario in enumerate(scenarios)
                     if values.get((scenario, series))
                     and values[scenario, series][index] is not None]
            axis.bar([at for at, _ in known], [value for _, value in known],
                     width, label=series)
    for axis in axes:
        axis.set_yscale('log')
        axis.set_xticks([at + 0.4 - width / 2
                         for at in range(len(scenarios))], scenarios)
    axes[0].legend(fontsize=7)
    _save(pyplot, figure, directory, name)


def lines(directory, name, title, panels):
    """
    Something over the rounds.

    :param panels: a dict, label of an axis to a dict, series to values
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, len(panels), figsize=(12, 5),
                                   squeeze=False)
    figure.suptitle(title)
    for axis, (label, series) in zip(axes[0], panels.items()):
        for each, values in series.items():
            axis.plot(range(1, len(values) + 1), values, 'o-', label=each)
        axis.set_xticks(range(1, 1 + max(map(len, series.values()))))
        axis.set_xlabel('round')
        axis.set_ylabel(label)
        axis.legend(fontsize=7)
    _save(pyplot, figure, directory, name)


def rounds(directory, outcomes):
    """What each round of some outcomes took, one figure a scenario."""
    for scenario in dict.fromkeys(each.scenario for each in outcomes):
        mine = [each for each in outcomes if each.scenario == scenario]
        lines(directory, scenario, scenario, {
            label: {each.protocol: [getattr(result, field)
                                    for result in each.results]
                    for each in mine}
            for label, field in (
                ('sync delay (s)', 'delay'), ('bytes a node', 'bytes'),
                ('partitions that differ', 'differing'))})
