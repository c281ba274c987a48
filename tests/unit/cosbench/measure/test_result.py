# SPDX-License-Identifier: Apache-2.0
"""The result document: what is taken, and how the rest is refused."""

import copy
import json
import unittest

from hypothesis import given, strategies

from cosbench.measure.drivers import WorkDriver
from cosbench.measure.result import Result
from swift_lightsync.common.records import RecordError
from tests.unit.cosbench import results
from tests.unit.cosbench.measure import oracle

ANYTHING = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.floats()
    | strategies.integers() | strategies.text(max_size=5),
    lambda inner: strategies.lists(inner, max_size=3)
    | strategies.dictionaries(strategies.text(max_size=5), inner,
                              max_size=3), max_leaves=5)


def places(value, path=()):
    """Where there is anything in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, path + (key,))


def changed(document, path, value):
    if not path:
        return value
    document = copy.copy(document)
    document[path[0]] = changed(document[path[0]], path[1:], value) \
        if path[1:] else value
    return document


class TestResult(unittest.TestCase):

    def test_a_result_is_read(self):
        document = json.loads(json.dumps(results.tiny()))
        found = Result.from_json(document)
        self.assertEqual(('w12', 'small', 'finished', 7), (
            found.id, found.name, found.state, found.seed))
        work = found.stages[1].works[0]
        self.assertEqual(['read', 'write'],
                         [each.name for each in work.operations])
        self.assertEqual(0.4, work.metrics(work.operations[0]).throughput)
        self.assertEqual(4, sum(point.count for point
                                in work.timeline.points('op1')))

    def test_optional_things_may_be_missing_or_null(self):
        found = Result.from_json({
            'version': 1, 'id': 'w1', 'name': 'n', 'state': 'cancelled',
            'stages': [{'id': 's1-a', 'name': 'a', 'state': 'cancelled',
                        'reason': None, 'works': [{
                            'id': 'w', 'name': 'w', 'type': 'normal',
                            'workers': 1, 'runtime': None, 'timeline': None,
                            'operations': []}]}]})
        work = found.stages[0].works[0]
        self.assertEqual((0, None, None, True), (
            work.runtime, work.timeline, work.counted, work.histogram))

    def test_the_drivers_of_a_work_are_read_and_the_busiest_is_known(self):
        document = results.tiny()
        work = document['stages'][1]['works'][0]
        self.assertIsNone(Result.from_json(document).stages[1].works[
            0].driver_cpu)
        work['drivers'] = [
            {'name': 'd1', 'workers': 2, 'cpu_percent_p95': 12.5,
             'loop_lag_ms_p99': 3, 'resent': 4},
            {'cpu_percent_p95': 50}, {'name': 'd3', 'resent': None}]
        found = Result.from_json(document).stages[1].works[0]
        self.assertEqual(WorkDriver('d1', 2, 12.5, 3, 4), found.drivers[0])
        self.assertEqual(WorkDriver('d3', None, None, None, None),
                         found.drivers[2])
        self.assertEqual(50, found.driver_cpu)

    def test_rates_are_over_what_counted(self):
        document = results.tiny()
        work = document['stages'][1]['works'][0]
        work['counted'] = 5.0
        work['rampup'] = 3
        found = Result.from_json(document).stages[1].works[0]
        self.assertEqual(0.8, found.metrics(found.operations[0]).throughput)
        self.assertEqual((3, 8.0), found.window)
        # Without a run time all of a work counts.
        self.assertEqual((0.0, None), Result.from_json(
            document).stages[0].works[0].window)

    def test_wrong_values_are_named(self):
        for path, value, words in (
                (('version',), 2, 'result.version: 2 must be 1'),
                (('state',), None, 'result.state'),
                (('started',), -1, 'result.started'),
                (('started',), float('nan'), 'result.started'),
                (('stages',), {}, 'result.stages'),
                (('stages', 1, 'works', 0, 'workers'), '2',
                 'result.stages[1].works[0].workers'),
                (('stages', 1, 'works', 0, 'histogram'), 1,
                 'histogram: 1 must be true or false'),
                (('stages', 1, 'works', 0, 'operations', 0, 'tally',
                  'bytes'), -1,
                 'result.stages[1].works[0].operations[0].tally.bytes'),
                (('stages', 1, 'works', 0, 'timeline', 'interval'), 0,
                 'result.stages[1].works[0].timeline.interval'),
                (('stages', 1, 'history', 0), ['x'],
                 'result.stages[1].history[0]'),
                (('stages', 1, 'works', 0, 'drivers'), [{'resent': -1}],
                 'works[0].drivers[0].resent: -1'),
                (('id',), 'x' * 201, 'result.id')):
            with self.assertRaises(RecordError) as caught:
                Result.from_json(changed(results.tiny(), path, value),
                                 'result')
            self.assertIn(words, str(caught.exception))

    @oracle.PATIENT
    @given(strategies.sampled_from(sorted(places(results.tiny()), key=str)),
           ANYTHING)
    def test_whatever_is_anywhere_it_is_read_or_refused(self, path, value):
        try:
            Result.from_json(changed(results.tiny(), path, value), 'result')
        except RecordError as err:
            self.assertTrue(str(err).startswith('result'))
            self.assertLess(len(str(err)), 1000)
