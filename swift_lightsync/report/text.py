# SPDX-License-Identifier: Apache-2.0
"""The report as text, in aligned columns."""

import time

from swift_lightsync.common.nodes import Outcome
from swift_lightsync.common.recon_record import place_name
from swift_lightsync.report.health import PairState

#: Lines of a table, but for those that list each node or policy.
MOST = 20
UNITS = ((86400, 'd'), (3600, 'h'), (60, 'm'), (1, 's'))


def duration(seconds):
    """:returns: such as ``1d4h``, ``12s``; ``never`` for None"""
    if seconds is None:
        return 'never'
    parts = []
    left = int(seconds)
    for size, unit in UNITS:
        if left >= size:
            parts.append('%d%s' % (left // size, unit))
            left %= size
    return ''.join(parts[:2]) or '0s'


def timestamp(when):
    return time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(when))


def summary(health):
    """The columns and rows of the table of policies."""
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


def pair_name(pair):
    return '%s -> %s' % (place_name(pair.record.device),
                         place_name(pair.record.neighbour))


def node_rows(health):
    """Those that have not answered, and why."""
    yield 'NODE', 'IS', 'BECAUSE'
    for reply in health.replies:
        if reply.outcome is not Outcome.ANSWERED:
            yield (place_name(reply.host), reply.outcome.value,
                   ''.join(c if c.isprintable() else '?'
                           for c in reply.problem))


def failure_rows(health):
    yield 'FAILURE TABLE OF', 'SAYS THAT', 'IS', 'EXCEPTIONS', 'FOR ANOTHER'
    for each in health.sightings:
        yield (place_name(each.node), place_name(each.suspect.key),
               each.suspect.state.value, each.suspect.exceptions,
               duration(each.left))


def trouble_rows(health):
    yield ('POLICY', 'PAIR THAT DOES NOT AGREE', 'STATE', 'LAST ANSWER',
           'DIFFERING', 'OF', 'LAST AGREED')
    for policy in health.policies:
        for pair in policy.in_use:
            if pair.state is not PairState.AGREED:
                record = pair.record
                yield (record.policy, pair_name(pair), pair.state.value,
                       record.answer.value, record.differing,
                       record.partitions, duration(pair.age))


def late_rows(health):
    yield 'DEVICE WITHOUT A RECENT PASS', 'LAST PASS'
    for each in health.late:
        yield place_name(each.device), duration(each.age)


def heading(health):
    return '%s: %d nodes asked, %d answered; a pair is stale after %s' % (
        timestamp(health.time), len(health.replies),
        len(health.hosts(Outcome.ANSWERED)), duration(health.stale_after))


def verdict(health):
    return ('All is well.' if not health.complaints
            else 'Not well: %s.' % ', '.join(health.complaints))


def tables(health, most=MOST):
    """
    The tables of the report, those without rows left out.

    :param most: rows of a table, at most; the others are counted
    :returns: a generator of lists of rows, the first of which has the heads
    """
    yield list(summary(health))
    for rows in (node_rows, failure_rows, trouble_rows, late_rows):
        head, *body = rows(health)
        if body:
            left = len(body) - most
            more = [('… and %d more' % left,)] if left > 0 else []
            yield [head, *body[:most], *more]


def aligned(rows):
    """:returns: the lines of a table, its columns aligned"""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows if len(row) == len(
        rows[0])) for column in range(len(rows[0]))]
    return ['  '.join(cell.ljust(width) for cell, width
                      in zip(row, widths)).rstrip() for row in rows]


def render(health):
    """:returns: the whole report"""
    parts = [heading(health)]
    parts += ['\n'.join(aligned(rows)) for rows in tables(health)]
    return '\n\n'.join(parts + [verdict(health)]) + '\n'
