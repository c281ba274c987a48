# SPDX-License-Identifier: Apache-2.0
"""The report as text, in aligned columns."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from swift_lightsync.common.address import place_name
from swift_lightsync.common.nodes import Outcome
from swift_lightsync.common.text import printable
from swift_lightsync.report.health import Health, Pair, PairState

#: Cells of a row of a table.
Row = Sequence[Any]
#: Most lines of a table, except for the one of policies.
MOST = 20
#: Figures of a pass that add up over devices, and what they are called.
PASS_FIELDS = ('messages', 'asked', 'differing', 'pushed', 'busy',
               'scrubbed', 'closed')
PASS_HEADS = ('MESSAGES', 'ASKED ABOUT', 'DIFFERED', 'PUSHED', 'PUT OFF',
              'LISTED ANEW', 'RINGS CLOSED')
UNITS = ((86400, 'd'), (3600, 'h'), (60, 'm'), (1, 's'))


def duration(seconds: float | None) -> str:
    """Write a time span as ``1d4h`` or ``12s``, and None as ``never``."""
    if seconds is None:
        return 'never'
    parts = []
    left = int(seconds)
    for size, unit in UNITS:
        if left >= size:
            parts.append('%d%s' % (left // size, unit))
            left %= size
    return ''.join(parts[:2]) or '0s'


def timestamp(when: float) -> str:
    """Write a Unix time for people."""
    return time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(when))


def summary(health: Health) -> Iterator[Row]:
    """Yield the head and the rows of the table of policies."""
    yield ('POLICY', 'PAIRS', 'AGREED', 'DIFFERING', 'STALE', 'UNREACHABLE',
           'AS STOCK', 'PARTITIONS DIFFERING', 'OLDEST AGREEMENT')
    for policy in health.policies:
        oldest = policy.oldest
        yield ('%d %s' % (policy.ring.policy, policy.ring.name),
               len(policy.in_use),
               *(policy.count(state) for state in (
                   PairState.AGREED, PairState.DIFFERING, PairState.STALE,
                   PairState.UNREACHABLE)),
               policy.as_stock, policy.differing,
               '%s  %s' % (duration(oldest.age), pair_name(oldest))
               if oldest else '-')


def pair_name(pair: Pair) -> str:
    """Write which devices a pair consists of."""
    return '%s -> %s' % (place_name(pair.record.device),
                         place_name(pair.record.neighbour))


def node_rows(health: Health) -> Iterator[Row]:
    """Yield head and rows: the nodes that have not answered, and why."""
    yield 'NODE', 'IS', 'BECAUSE'
    for reply in health.replies:
        if reply.outcome is not Outcome.ANSWERED:
            yield (place_name(reply.host), reply.outcome.value,
                   printable(reply.problem))


def failure_rows(health: Health) -> Iterator[Row]:
    """Yield head and rows: what the failure tables contain."""
    yield 'FAILURE TABLE OF', 'SAYS THAT', 'IS', 'EXCEPTIONS', 'FOR ANOTHER'
    for each in health.sightings:
        yield (place_name(each.node), place_name(each.suspect.key),
               each.suspect.state.value, each.suspect.exceptions,
               duration(each.left))


def trouble_rows(health: Health) -> Iterator[Row]:
    """Yield head and rows: the pairs that do not agree."""
    yield ('POLICY', 'PAIR THAT DOES NOT AGREE', 'STATE', 'LAST ANSWER',
           'DIFFERING', 'OF', 'LAST AGREED')
    for policy in health.policies:
        for pair in policy.in_use:
            if pair.state is not PairState.AGREED:
                record = pair.record
                yield (record.policy, pair_name(pair), pair.state.value,
                       record.answer.value, record.differing,
                       record.partitions, duration(pair.age))


def late_rows(health: Health) -> Iterator[Row]:
    """Yield head and rows: the devices without a recent pass."""
    yield 'DEVICE WITHOUT A RECENT PASS', 'LAST PASS'
    for each in health.late:
        yield place_name(each.device), duration(each.age)


def hand_off_rows(health: Health) -> Iterator[Row]:
    """Yield head and rows: the devices that hold what belongs to others."""
    yield 'DEVICE WITH HAND-OFFS', 'PARTITIONS', 'LEFT ABOUT'
    for each in health.with_hand_offs:
        yield (place_name(each.device), each.hand_offs,
               duration(each.hand_offs_seconds))


def pass_rows(health: Health) -> Iterator[Row]:
    """Yield head and row: what the last passes did, all together."""
    yield ('LAST PASSES OVER', *PASS_HEADS, 'LISTED LONGEST AGO')
    if health.passes:
        yield ('%d devices' % len(health.passes),
               *(sum(getattr(each, name) for each in health.passes)
                 for name in PASS_FIELDS),
               duration(max(each.scrub_seconds for each in health.passes)))


def heading(health: Health) -> str:
    """Return the first line: when and how many nodes were asked."""
    return '%s: %d nodes asked, %d answered; a pair is stale after %s' % (
        timestamp(health.time), len(health.replies),
        len(health.hosts(Outcome.ANSWERED)), duration(health.stale_after))


def verdict(health: Health) -> str:
    """Return the last line: whether all is well, or what is not."""
    return ('All is well.' if not health.complaints
            else 'Not well: %s.' % ', '.join(health.complaints))


def tables(health: Health, most: int = MOST) -> Iterator[list[Row]]:
    """Yield the tables of the report that have rows.

    :param health: what to report
    :param most: most rows of a table; the others are counted
    :returns: the rows of each table, of which the first is its head
    """
    yield list(summary(health))
    for rows in (pass_rows, node_rows, failure_rows, trouble_rows, late_rows,
                 hand_off_rows):
        head, *body = rows(health)
        if body:
            left = len(body) - most
            more = [('… and %d more' % left,)] if left > 0 else []
            yield [head, *body[:most], *more]


def aligned(rows: Iterable[Row]) -> list[str]:
    """Return the lines of a table, its columns aligned."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells if len(row) == len(
        cells[0])) for column in range(len(cells[0]))]
    return ['  '.join(cell.ljust(width) for cell, width
                      in zip(row, widths)).rstrip() for row in cells]


def render(health: Health) -> str:
    """Return the whole report."""
    parts = [heading(health)]
    parts += ['\n'.join(aligned(rows)) for rows in tables(health)]
    return '\n\n'.join(parts + [verdict(health)]) + '\n'
