# SPDX-License-Identifier: Apache-2.0
"""What limited a work is named, in each of ten cases that are injected."""

import random
import unittest

from cosbench.measure.nodes import NodePoint
from cosbench.measure.result import Result
from cosbench.measure.sample import Sample
from cosbench.measure.tally import Tally
from cosbench.reports.bottleneck import limits
from cosbench.reports.run_page import run_page
from tests.unit.cosbench import results

#: A node of a cluster that is half busy.
USUAL = {'cpu': 45.0, 'core': 60.0, 'disk': 50.0, 'wait': 3.0, 'read': 5e6,
         'written': 5e6, 'received': 2e7, 'sent': 2e7, 'network': 20.0,
         'pending': 10.0, 'proxy_ms': 30.0, 'container_ms': 3.0,
         'object_ms': 8.0}
#: What happens -> (node -> other figures), what must be said.
CASES = {
    'a slow disk': ({1: {'wait': 60.0}}, 'node n1: an access of its disks '
                    'took'),
    'a full disk': ({2: {'disk': 98.0}}, r'node n2: its disks were busy '
                    r'\(sdb\)'),
    'all disks': (dict.fromkeys(range(4), {'disk': 97.0}),
                  'disks were busy.* and 3 more of 4 nodes'),
    'one node\'s processors': ({0: {'cpu': 97.0, 'core': 99.0}},
                               'node n0: its processors were busy'),
    'one core': ({3: {'core': 99.0}}, 'node n3: its busiest core'),
    'one network card': ({1: {'network': 95.0}},
                         'node n1: its network cards carried'),
    'all network cards': (dict.fromkeys(range(4), {'network': 99.0}),
                          'network cards.* and 3 more of 4'),
    'a slow container server': ({3: {'container_ms': 200.0}},
                                'node n3: a request to its container '
                                'servers took'),
    'a slow object server': ({1: {'object_ms': 90.0}},
                             'node n1: a request to its object servers'),
    'a slow object server, and what it slows': (
        {1: {'object_ms': 900.0}, 2: {'container_ms': 12.0}},
        'node n1: a request to its object servers'),
    # Its servers are slow because its disk is.
    'a slow disk and its servers': (
        {0: {'wait': 60.0, 'object_ms': 90.0, 'container_ms': 30.0}},
        'node n0: an access of its disks took'),
    'container servers that lose updates': (
        {2: {'pending': None}}, 'container servers fell behind.*node n2'),
}


def node(rng, number, figures):
    rows = []
    for second in range(80):
        point = {key: value and value * rng.uniform(.97, 1.03)
                 for key, value in {**USUAL, **figures}.items()}
        if point['pending'] is None:
            point['pending'] = 50.0 * second
        for key in ('cpu', 'core', 'disk', 'network'):
            point[key] = min(100.0, point[key])
        rows.append(NodePoint(results.BEGIN - 10.0 + second,
                              **point).to_json())
    return {'name': 'n%d' % number, 'disks': [['sda', 20.0], ['sdb', 90.0]],
            'rows': rows}


def run(seed, others=None, **more):
    rng = random.Random(seed)
    document = results.generated(seed, started=results.BEGIN, **more)
    document['nodes'] = [node(rng, number, (others or {}).get(number, {}))
                         for number in range(4)]
    return Result.from_json(document)


def said(result):
    return limits(result.stages[0].works[0], result.nodes)


class TestCases(unittest.TestCase):

    def test_what_is_injected_is_named_first_and_alone(self):
        for seed, (name, (others, words)) in enumerate(CASES.items()):
            found = said(run(seed, others))
            self.assertEqual(1 + ('what it slows' in name), len(found),
                             (name, found))
            self.assertRegex(found[0], words, name)

    def test_a_driver_is_named_before_the_nodes(self):
        for key, value, words in (('cpu_percent_p95', 97, 'driver d used'),
                                  ('loop_lag_ms_p99', 90, 'driver d was')):
            found = said(run(1, {1: {'disk': 99.0}}, drivers=[
                {'name': 'd', key: value}]))
            self.assertRegex(found[0], words)
            self.assertIn('node n1', found[1])

    def test_nothing_is_said_of_a_cluster_that_has_room(self):
        for seed in range(20):
            self.assertEqual([], said(run(seed)))

    def test_a_slow_endpoint_is_named(self):
        def row(number, ms):
            tally = Tally()
            for _ in range(10):
                tally.add(Sample('op1', 0, 0, ms / 1000, ms / 1000, 1))
            return {'id': 'op1' + '/%d' % number * bool(number),
                    'name': 'read' + ' at h%d' % number * bool(number),
                    'type': 'read', 'tally': tally.to_json()}
        for times, words in (((4, 40, 5), ['read at h2 took 40 ms, 4.5 ms at '
                                           'the other endpoints']),
                             ((4, 7, 5), [])):
            document = results.generated(1, started=results.BEGIN)
            document['stages'][0]['works'][0]['operations'] = [
                row(0, 9), *map(row, (1, 2, 3), times)]
            self.assertEqual(words, said(Result.from_json(document)))

    def test_only_the_run_time_counts(self):
        document = results.generated(1, started=results.BEGIN)
        busy = node(random.Random(1), 1, {'disk': 99.0})
        # Before it began, and after its end.
        busy['rows'] = [row for row in busy['rows'] if not (
            results.BEGIN <= row[0] <= results.BEGIN + 60)]
        document['nodes'] = [busy]
        self.assertEqual([], said(Result.from_json(document)))

    def test_the_page_shows_nodes_and_limits(self):
        page = run_page(run(1, {1: {'disk': 99.0}}))
        self.assertIn('Limit: node n1: its disks were busy (sdb)', page)
        self.assertIn('Storage nodes in each work', page)
        self.assertIn('Nodes, s1-main, main: processors', page)
