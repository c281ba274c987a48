# SPDX-License-Identifier: Apache-2.0
"""Tables of simulations, for people and for programs."""

import json
from dataclasses import asdict

from tools.benchmarks.record import lines

HEADER = ('scenario', 'protocol', 'round', 'delay_s', 'slowest_s',
          'messages', 'most', 'kB', 'differing')


def number(value):
    """Return a number with three significant digits."""
    if value >= 100:
        return '%.0f' % value
    return '%.3g' % value


def _row(outcome, index):
    result = outcome.results[index]
    return (outcome.scenario, outcome.protocol, str(index + 1),
            number(result.delay), number(result.slowest),
            number(result.messages), number(result.most_messages),
            number(result.bytes / 1000), str(result.differing))


def rounds_table(outcomes):
    """Return each round of each outcome."""
    return lines([HEADER, *(_row(outcome, index) for outcome in outcomes
                            for index in range(len(outcome.results)))],
                 left=2)


def summary_table(outcomes):
    """Return each outcome's first round, and how many rounds it took."""
    header = HEADER[:2] + ('rounds',) + HEADER[3:8]
    return lines([header, *(
        _row(outcome, 0)[:2] + ('never' if outcome.rounds is None
                                else str(outcome.rounds),)
        + _row(outcome, 0)[3:8] for outcome in outcomes)], left=2)


def write_json(path, settings, outcomes):
    """Write all results to a file.

    :param path: the file
    :param settings: :class:`Settings`
    :param outcomes: a list of Outcome
    """
    with open(path, 'w', encoding='utf8') as output:
        json.dump({'settings': asdict(settings),
                   'outcomes': [outcome.as_dict() for outcome in outcomes]},
                  output, indent=1)
        output.write('\n')
