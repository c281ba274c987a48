# SPDX-License-Identifier: Apache-2.0
"""The paper's Figs. 4 and 5 of what was measured, as SVG."""

import os

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sizes import size_text
from tools.benchmarks.versioning.client import Op
from tools.benchmarks.versioning.settings import MODES


def pyplot():
    """:raises BenchError: without matplotlib"""
    try:
        import matplotlib
    except ImportError:
        raise BenchError('--plots needs matplotlib: '
                         'pip install swift-lightsync[simulation]')
    matplotlib.use('Agg')
    from matplotlib import pyplot
    return pyplot


def _bars(axes, records, label):
    """Groups of one bar a mode, with the runs' least and greatest."""
    groups = list(dict.fromkeys(map(label, records)))
    modes = [mode for mode in MODES
             if any(each.mode == mode for each in records)]
    width = 0.8 / len(modes)
    for number, mode in enumerate(modes):
        mine = [each for each in records if each.mode == mode]
        runs = [[run.p50_ms for run in each.runs] for each in mine]
        axes.bar(
            [groups.index(label(each)) + number * width for each in mine],
            [each.p50_ms for each in mine], width, label=mode, capsize=3,
            yerr=[[each.p50_ms - min(of) for each, of in zip(mine, runs)],
                  [max(of) - each.p50_ms for each, of in zip(mine, runs)]])
    axes.set_xticks([number + width * (len(modes) - 1) / 2
                     for number in range(len(groups))], groups)
    axes.set_ylabel('p50, ms')
    axes.set_ylim(bottom=0)
    axes.legend()


def _figure(path, title, records, label):
    plt = pyplot()
    ops = [op.name for op in Op]
    figure, panels = plt.subplots(1, len(ops), figsize=(12, 5))
    figure.suptitle(title)
    for axes, op in zip(panels, ops):
        axes.set_title(op)
        mine = [each for each in records if each.op == op]
        if mine:
            _bars(axes, mine, label)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return path


def draw(directory, records):
    """
    :param directory: for the files; it is made
    :param records: a sequence of Record
    :returns: the paths of the files
    """
    os.makedirs(directory, exist_ok=True)
    single = [each for each in records if each.concurrency == 1]
    batches = [each for each in records if each.concurrency > 1]
    paths = []
    if single:
        paths.append(_figure(
            os.path.join(directory, 'sequential.svg'),
            'Requests one after the other', single,
            lambda each: size_text(each.size)))
    if batches:
        paths.append(_figure(
            os.path.join(directory, 'batches.svg'),
            'Batches of concurrent requests, %s'
            % size_text(batches[0].size), batches,
            lambda each: '%d, %d at once' % (each.requests,
                                             each.concurrency)))
    return paths
