# SPDX-License-Identifier: Apache-2.0
"""Comparisons: the right ratios, and intervals that hold what they say."""

import copy
import json
import random
import unittest
from unittest import mock

from lxml import html

from cosbench.experiment.core.table import Row
from cosbench.measure.histogram import Histogram
from cosbench.measure.result import Result
from cosbench.measure.sample import Sample
from cosbench.measure.timeline import Timeline
from cosbench.reports import bootstrap
from cosbench.reports.bootstrap import Side, estimates
from cosbench.reports.compare import compare
from cosbench.reports.compare_views import as_json, as_page, as_text, verdict
from tests.unit.cosbench import results
from tests.unit.cosbench.documents import reads
from tests.unit.cosbench.measure import oracle

#: Fewer draws, which take less time.
FEW = mock.patch.object(bootstrap, 'DRAWS', 200)


def result(seed, **options):
    name = options.pop('id', 'w%d' % seed)
    return Result.from_json({**results.generated(seed, **options),
                             'id': name})


def side(rng, mean_ms, slow=1.0, seconds=40, rate=30):
    """One operation whose times are ``slow`` times as long every other
    five seconds; with their times in microseconds."""
    line, times, when = Timeline(1), [], 0.0
    while True:
        when += rng.expovariate(rate)
        if when >= seconds:
            return Side(line.intervals('op1', 0, seconds)), times
        took = mean_ms / 1000 * rng.lognormvariate(-.125, .5) * (
            slow if int(when / 5) % 2 else 1)
        line.add(Sample('op1', when - took, when - took, when, when, 1))
        times.append(oracle.microseconds(took))


class TestBootstrap(unittest.TestCase):

    def test_percentiles_of_all_batches_are_those_of_the_times(self):
        found, times = side(random.Random(1), 5)
        figures = found.figures(range(len(found.batches)), [50, 95, 99])
        self.assertAlmostEqual(len(times) / 40, figures[0])
        self.assertAlmostEqual(sum(times) / len(times), figures[1])
        for percent, value in zip([50, 95, 99], figures[2:]):
            right = oracle.percentile(times, percent)
            self.assertAlmostEqual(right, value, delta=right * .016)

    def intervals(self, number, mean_ms, slow=1.0):
        """How many of some pairs of runs are told apart, by figure."""
        rng, differing = random.Random(number), [0, 0, 0]
        for _ in range(number):
            pair = side(rng, 5, slow)[0], side(rng, mean_ms, slow)[0]
            figures = [each.figures(range(len(each.batches)), [95])
                       for each in pair]
            ratios = [other / one for one, other in zip(*figures)]
            for place, each in enumerate(estimates(ratios, *pair, [95],
                                                   .95)):
                differing[place] += each.differs
        return differing

    @FEW
    def test_runs_of_the_same_are_seldom_told_apart(self):
        # 2 are expected; more than 8 of 40 happens once in 3000 times, and
        # the seed is fixed.
        for slow in (1.0, 1.5):
            for number in self.intervals(40, 5, slow):
                self.assertLessEqual(number, 8)

    @FEW
    def test_runs_a_fifth_slower_are_told_apart(self):
        rate, mean, high = self.intervals(10, 6)
        self.assertLessEqual(rate, 2)
        self.assertEqual(10, mean)
        self.assertGreaterEqual(high, 7)

    def test_too_few_intervals_tell_nothing(self):
        few, many = (side(random.Random(1), 5, seconds=seconds)[0]
                     for seconds in (7, 8))
        self.assertIsNone(estimates([1, 1, 1], few, many, [95], .95)[0].low)
        self.assertIsNotNone(
            estimates([1, 1, 1], many, many, [95], .95)[0].low)
        line = Timeline(1)
        line.add(Sample('op1', 0, 0, .1, .2, 1))
        rare = Side(line.intervals('op1', 0, 40))
        self.assertIsNone(estimates([1, 1, 1], rare, rare, [95], .95)[0].low)

    def test_more_confidence_is_a_wider_interval(self):
        pair = (side(random.Random(1), 5)[0], side(random.Random(2), 5)[0])
        sure, less = (estimates([1, 1, 1], *pair, [95], confidence)[1]
                      for confidence in (.99, .8))
        self.assertLess(sure.low, less.low)
        self.assertLess(less.high, sure.high)


def pair(first, second, *more):
    """:returns: the ``Comparison`` of two single runs"""
    return compare([first], [second], *more)


def rows(found):
    """:returns: figure -> row, of the only operation"""
    return {row.figure: row for row in found.rows}


@FEW
class TestSingleRuns(unittest.TestCase):

    def test_ratios_are_second_to_first(self):
        found = pair(result(1), result(2, mean_ms=6, rate=100))
        self.assertAlmostEqual(2, rows(found)['throughput'].ratio, delta=.1)
        self.assertAlmostEqual(1.2, rows(found)['mean'].ratio, delta=.05)
        for base, row in zip(found.base, found.rows):
            if row.ratio is not None:
                self.assertAlmostEqual(row.mean / base.mean, row.ratio)
        for name in ('throughput', 'mean', 'p50', 'p95', 'p99'):
            row = rows(found)[name]
            self.assertTrue(row.ratio_low <= row.ratio <= row.ratio_high)

    def test_a_result_is_as_fast_as_itself_each_time(self):
        whole = pair(result(1), result(1))
        self.assertEqual(as_json(whole), as_json(pair(result(1), result(1))))
        for confidence in (0, 1, 95, float('nan')):
            with self.assertRaisesRegex(ValueError, 'confidence='):
                pair(result(1), result(1), confidence)
        for row in whole.rows:
            if row.ratio_low is not None:
                self.assertEqual(1, row.ratio)
                self.assertTrue(row.ratio_low < 1 < row.ratio_high)
                self.assertFalse(row.differs)

    def test_ramps_do_not_count(self):
        whole, ramped = results.generated(1), results.generated(1)
        work = ramped['stages'][0]['works'][0]
        line = Timeline.from_json(work['timeline'])
        for number in range(2000):
            line.add(Sample('op1', 0, 0, .5, number % 10, 1))
        work.update(timeline=line.to_json(), rampup=10, runtime=50)
        row = rows(pair(Result.from_json(whole),
                        Result.from_json(ramped)))['mean']
        self.assertTrue(.9 < row.ratio_low <= row.ratio_high < 1.1, row)

    def test_without_a_run_time_the_last_interval_is_not_a_whole_one(self):
        documents = results.generated(1), results.generated(1)
        for document in documents:
            work = document['stages'][0]['works'][0]
            work['runtime'] = 0
            kept = work['timeline']['operations']['op1']
            # 8 whole intervals are enough; 7 and a part are not.
            del kept[9:]
        self.assertIsNotNone(rows(pair(*map(
            Result.from_json, documents)))['throughput'].ratio_low)
        del kept[8:]
        self.assertIsNone(rows(pair(*map(
            Result.from_json, documents)))['throughput'].ratio_low)

    def test_operations_are_paired_by_their_names(self):
        first, second = results.tiny(), results.tiny()
        second['stages'].insert(0, second['stages'].pop())
        second['stages'][2]['works'][0]['operations'].pop()
        second['stages'][1]['works'][0]['name'] = 'other'
        found = pair(Result.from_json(first), Result.from_json(second))
        self.assertEqual({'main/main/read'},
                         {row.operation for row in found.rows})
        self.assertEqual(('init/init/init', 'main/main/write'),
                         found.only_first)
        self.assertEqual(('init/other/init',), found.only_second)

    def test_stages_of_one_name_are_paired_in_their_order(self):
        first = results.tiny()
        stage = first['stages'][1]
        first['stages'] = [stage, copy.deepcopy(stage)]
        second = copy.deepcopy(first)
        second['stages'][1]['works'][0]['runtime'] = 5
        found = pair(Result.from_json(first), Result.from_json(second))
        self.assertEqual([1, 1, 2, 2], [
            round(row.ratio, 9) for row in found.rows
            if row.figure == 'throughput'])

    def test_without_successes_there_is_no_ratio(self):
        first = results.tiny()
        second = copy.deepcopy(first)
        work = second['stages'][1]['works'][0]
        work['operations'][0] = results.operation([], 'read', 'read')
        found = pair(Result.from_json(first), Result.from_json(second))
        for row in found.rows:
            if row.operation == 'main/main/read':
                self.assertIsNone(row.ratio)
        self.assertIn('N/A', as_text(found))
        self.assertTrue(as_page(found))

    def test_a_paced_work_is_judged_from_when_operations_were_due(self):
        documents = results.generated(1), results.generated(2)
        for document in documents:
            document['stages'][0]['works'][0]['rate'] = 50
        tally = documents[1]['stages'][0]['works'][0]['operations'][0][
            'tally']
        late = Histogram()
        for _ in range(tally['response']['count']):
            late.record(.5)
        tally['intended'] = late.to_json()
        found = rows(pair(*map(Result.from_json, documents)))
        self.assertAlmostEqual(500, found['mean'].mean, delta=1)
        self.assertGreater(found['mean'].ratio, 50)
        # A timeline of before has other times.
        self.assertIsNone(found['mean'].ratio_low)
        self.assertIsNotNone(found['throughput'].ratio_low)
        line = Timeline(1)
        for number in range(3000):
            line.add(Sample('op1', number / 50 - .5, number / 50 - .005,
                            number / 50, number / 50, 1))
        documents[1]['stages'][0]['works'][0]['timeline'] = line.to_json()
        mean = rows(pair(*map(Result.from_json, documents)))['mean']
        self.assertTrue(mean.ratio_low <= mean.ratio <= mean.ratio_high)
        self.assertTrue(mean.differs)

    def test_what_a_driver_limited_has_no_verdict(self):
        documents = results.generated(1), results.generated(
            2, mean_ms=9.0, drivers=[{'name': 'a', 'cpu_percent_p95': 99}])
        found = pair(*map(Result.from_json, documents))
        self.assertEqual({None}, {row.differs for row in found.rows})
        self.assertIn('WARNING: w12: work main: driver a used 99%',
                      as_text(found))


class TestManyRuns(unittest.TestCase):

    def compared(self, slower, number=5, noise=.02):
        rng = random.Random(4)
        sides = [[result(place * 100 + each, seconds=20,
                         mean_ms=5 * factor * rng.lognormvariate(0, noise))
                  for each in range(1, number + 1)]
                 for place, factor in enumerate((1, slower))]
        return compare(*sides)

    def test_intervals_are_across_runs(self):
        found = self.compared(1.3)
        row = rows(found)['mean']
        self.assertTrue(found.is_repeated and row.differs)
        self.assertTrue(row.ratio_low < 1.3 < row.ratio_high, row)
        self.assertIn('across runs', as_text(found))

    def test_runs_that_differ_among_themselves_tell_little(self):
        # Within each run the difference looks certain.
        found = self.compared(1.05, noise=.3)
        self.assertFalse(rows(found)['mean'].differs)

    def test_one_with_many_has_no_interval(self):
        found = compare([result(1)], [result(2), result(3)])
        self.assertFalse(found.is_repeated)
        self.assertIsNone(rows(found)['mean'].ratio_low)

    def test_what_their_documents_say_differently_is_told(self):
        found = compare(*([Result.from_json({
            **results.tiny(), 'xml': reads(attributes)})]
            for attributes in ('workers="1" runtime="1"',
                               'workers="2" runtime="1"')))
        self.assertEqual([('workers', '1', '2')], [
            (each.place.split()[-1], each.first, each.second)
            for each in found.changes])
        self.assertRegex(as_text(found), r's/w: workers +1 +2')


@FEW
class TestViews(unittest.TestCase):

    def setUp(self):
        with FEW:
            self.found = pair(result(1), result(2, mean_ms=6, rate=51))

    def test_a_verdict_is_given_only_where_1_is_outside(self):
        def row(figure, ratio, differs, low=1.0):
            return Row('x', 'o', figure, 1.0, ratio=ratio, ratio_low=low,
                       ratio_high=low, differs=differs)
        self.assertEqual(
            ['better', 'worse', 'worse', 'better', 'no difference shown',
             'not known', 'not judged', ''],
            [verdict(row(*fields)) for fields in (
                ('throughput', 1.2, True), ('mean', 1.2, True),
                ('throughput', .8, True), ('mean', .8, True),
                ('throughput', 1.2, False), ('throughput', 1.2, None, None),
                ('throughput', 1.2, None), ('throughput', None, None))])

    def test_text_says_what_differs_and_what_is_not_known(self):
        text = as_text(self.found)
        self.assertRegex(text, r'mean ms .*1\.\d+ \[1\.\d+, 1\.\d+\] *worse')
        self.assertRegex(text, r'operations/s .*no difference shown')
        self.assertIn('only repeated runs tell', text)

    def test_json_has_all_numbers(self):
        document = json.loads(json.dumps(as_json(self.found),
                                         allow_nan=False))
        self.assertEqual((['w1'], ['w2'], .95, False), (
            document['first'], document['second'], document['confidence'],
            document['across_runs']))
        figure, = [each for each in document['figures']
                   if each['figure'] == 'p99']
        self.assertEqual({'operation', 'figure', 'first', 'second', 'ratio',
                          'low', 'high', 'differs'}, set(figure))
        self.assertAlmostEqual(figure['second'] / figure['first'],
                               figure['ratio'])

    def test_the_page_shows_both_with_a_plot(self):
        page = html.document_fromstring(as_page(self.found))
        self.assertEqual(1, len(list(page.iter('svg'))))
        self.assertFalse(list(page.iter('script')))
        self.assertIn('w2 small compared with w1 small',
                      page.text_content())

    def test_names_are_no_markup_and_no_control_characters(self):
        document = results.tiny()
        document['name'] = document['stages'][1]['name'] = \
            '<script>\x1b[2J'
        found = pair(Result.from_json(document), Result.from_json(document))
        self.assertNotIn('<script', as_page(found))
        self.assertNotIn('\x1b', as_text(found))
