# SPDX-License-Identifier: Apache-2.0
"""What two repairs of the same disks took, side by side."""

from dataclasses import dataclass

from tools.demonstration.passes import VERBS, Cost
from tools.demonstration.show import byte_count


@dataclass(frozen=True)
class Repair:
    """
    :param until_equal: the Cost of all passes until the replicas were equal
    :param stable: that of the next pass, with nothing left to repair
    """

    until_equal: Cost
    stable: Cost


def _ratio(lightsync, stock):
    return '%.2g' % (lightsync / stock) if stock else '-'


def _row(name, lightsync, stock, form):
    return [name, form(lightsync), form(stock), _ratio(lightsync, stock)]


def _rows(lightsync, stock):
    rows = [_row('passes', lightsync.passes, stock.passes, str),
            _row('messages', lightsync.all_messages, stock.all_messages, str)]
    for verb, mine, others in zip(VERBS, lightsync.messages, stock.messages):
        if mine or others:
            rows.append(_row('  ' + verb, mine, others, str))
    return rows + [
        _row('bytes on loopback', lightsync.loopback_bytes,
             stock.loopback_bytes, byte_count),
        _row('seconds, slowest node', lightsync.seconds, stock.seconds,
             '{:.1f}'.format),
        _row('CPU seconds', lightsync.cpu_seconds, stock.cpu_seconds,
             '{:.1f}'.format)]


def print_comparison(show, repairs):
    """
    :param show: a Show
    :param repairs: a dict of replicator's name -> Repair
    """
    show.scene('LightSync and stock Swift')
    for title, part in (
            ('repair: all passes until every replica was identical',
             'until_equal'),
            ('stable state: one pass with nothing to repair', 'stable')):
        show.lines('', title, '')
        show.table(['', 'LightSync', 'stock', 'ratio'], _rows(
            getattr(repairs['lightsync'], part),
            getattr(repairs['stock'], part)))
