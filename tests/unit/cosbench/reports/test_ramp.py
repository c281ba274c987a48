# SPDX-License-Identifier: Apache-2.0
"""The peak and the knee of a ramp of workers."""

import json
import unittest

from lxml import html

from cosbench.measure.result import Result
from cosbench.measure.sample import Sample
from cosbench.reports.ramp import WORKERS, past_peak, ramps
from cosbench.reports.ramp_views import as_json, as_text, section, summary
from tests.unit.cosbench import results


def step(workers, rate, ms, failures=0, cpu=None, late=0):
    """10 s of reads at a rate, each of so many ms, late by so many s."""
    samples = [Sample('op1', n / rate - late, n / rate, n / rate + ms / 2000,
                      n / rate + ms / 1000, 1000, 'timeout'
                      if n < failures else None)
               for n in range(rate * 10)]
    return Result.from_json(results.document(
        [results.stage([results.work(samples, [results.operation(
            samples, 'read', 'read')], workers=workers)], 's1-main')],
        drivers=[{'name': 'd1', 'cpu_percent_p95': cpu},
                 {'name': 'd2', 'cpu_percent_p95': 1}]))


#: As Figure 9: it grows, stands, falls.
CURVE = [(10, 40, 5), (5, 20, 5), (20, 80, 6), (40, 116, 12), (80, 120, 40),
         (160, 100, 200)]


def found(curve, **options):
    ramp, = ramps([step(*each) for each in curve], **options)
    return ramp


class TestRamp(unittest.TestCase):

    def test_the_peak_is_the_most_throughput_the_knee_nearly_that(self):
        self.assertEqual((5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560),
                         WORKERS)
        self.assertEqual(WORKERS[:6], tuple(
            each.workers for each in found(CURVE).steps))
        for curve, options, expected in (
                (CURVE, {}, (80, 40)), (CURVE, {'most_ms': 10}, (20, 20)),
                # What began late is no answer in time.
                (CURVE + [(30, 90, 5, 0, None, 0.1)], {'most_ms': 10},
                 (20, 20)),
                # Steps that fail do not count.
                (CURVE + [(320, 500, 5, 100)], {}, (80, 40)),
                # Of equal steps the fewer workers win.
                ([(10, 50, 5), (5, 50, 5)], {}, (5, 5))):
            ramp = found(curve, **options)
            self.assertEqual(expected, (ramp.peak.workers,
                                        ramp.knee.workers))

    def test_no_step_may_be_acceptable(self):
        ramp = found(CURVE, most_ms=1)
        self.assertIsNone(ramp.peak)
        self.assertIn('no step was acceptable', as_text([ramp]))
        self.assertTrue(section(ramp))

    def test_stages_of_one_result_are_steps_too(self):
        both = [step(*each).stages[0] for each in CURVE]
        document = step(*CURVE[0])
        joined = Result(**{**vars(document), 'stages': tuple(both)})
        ramp, = ramps([joined])
        self.assertEqual(80, ramp.peak.workers)

    def test_a_step_that_never_began_is_none(self):
        document = results.tiny()
        nothing = results.work([], [results.operation([], 'read', 'read')],
                               workers=4)
        document['stages'] += [results.stage(
            [nothing], 's4-more', state='skipped', started=None,
            stopped=None)]
        ramp = ramps([Result.from_json(document)])[0]
        self.assertEqual([2], [each.workers for each in ramp.steps])

    def test_a_busy_driver_is_that_of_the_step(self):
        stages = [results.tiny()['stages'][1] for _ in range(2)]
        for stage, workers, cpu in zip(stages, (5, 10), (20.0, 97.0)):
            stage['works'][0].update(workers=workers, drivers=[
                {'name': 'd1', 'cpu_percent_p95': cpu}, {'name': 'd2'}])
        del stages[0]['works'][0]['drivers']
        result = Result.from_json(results.document(stages, drivers=[
            {'name': 'd1', 'cpu_percent_p95': 97.0}]))
        self.assertEqual([None, 97.0], [
            each.driver_cpu for each in ramps([result])[0].steps])

    def test_it_is_past_the_peak_when_steps_bring_too_little(self):
        for throughputs, past in (
                ([20, 40, 80], False), ([20, 40, 80, 82], False),
                ([20, 40, 80, 82, 83], True), ([80, 70, 90], False),
                ([80, 70, 60], True), ([], False), ([0, 0, 0], False)):
            self.assertEqual(past, past_peak(throughputs), throughputs)


class TestViews(unittest.TestCase):

    def test_the_summary_is_as_the_paper_puts_it(self):
        self.assertEqual(
            'read: the performance peaked at 80 workers (120 operations/s, '
            '40 ms in 95% response time). The knee is at 40 workers (116 '
            'operations/s, 12 ms).', summary(found(CURVE)))
        # A peak at the end may be none.
        self.assertIn('last step', summary(found(CURVE[:4])))

    def test_what_the_drivers_bound_is_said(self):
        ramp = found([(5, 20, 5), (10, 40, 5, 0, 97.0)])
        self.assertIn('what the drivers can', summary(ramp))
        self.assertRegex(as_text([ramp]), '97  peak, knee, driver-bound')

    def test_the_page_has_the_table_and_the_marks(self):
        page = html.document_fromstring(''.join(section(found(CURVE))))
        self.assertEqual(2, len(list(page.iter('svg'))))
        marks = [each.text for each in page.iter('text')
                 if each.text in ('peak', 'knee')]
        self.assertEqual(['knee', 'peak'] * 2, marks)
        rows = [[cell.text_content() for cell in row]
                for row in page.iter('tr')]
        self.assertIn(['80', '120', '120 KB', '40', '40', '40', '100%', '1',
                       'peak'], rows)

    def test_json_has_the_steps(self):
        document = json.loads(json.dumps(as_json([found(CURVE)]),
                                         allow_nan=False))
        operation, = document['operations']
        self.assertEqual((80, 40), (operation['peak_workers'],
                                    operation['knee_workers']))
        self.assertEqual([20, 40, 80, 116, 120, 100], [
            each['throughput'] for each in operation['steps']])
