# SPDX-License-Identifier: Apache-2.0
"""COSBench's CSV files, byte by byte, for a result that was worked out by
hand (``results.tiny``)."""

import csv
import io
import unittest
from datetime import timedelta, timezone

from cosbench.measure.result import Result
from cosbench.measure.sample import Sample
from cosbench.reports import tables
from cosbench.reports.tables import EVEN, bins
from tests.unit.cosbench import results

METRICS = 'Avg-ResTime,Avg-ProcTime,60%-ResTime,80%-ResTime,90%-ResTime,' \
    '95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio'
WORKLOAD = 'Stage,Op-Name,Op-Type,Op-Count,Byte-Count,' + METRICS + \
    ''',Status,Detailed Status
s1-init,init-write,init,1,0,20,8,20,20,20,20,20,20,50,0,100%,completed,\
running @ 2026-03-04 05:06:00,completed @ 2026-03-04 05:06:10
s2-main,read,read,4,4000,5,2.5,6.003,8,8,8,8,8,0.4,400,100%,completed,\
waiting @ 2026-03-04 05:06:00,running @ 2026-03-04 05:06:01,\
completed @ 2026-03-04 05:06:11
s2-main,write,write,1,500,10,9,10,10,10,10,10,10,0.1,50,50%,completed,\
waiting @ 2026-03-04 05:06:00,running @ 2026-03-04 05:06:01,\
completed @ 2026-03-04 05:06:11
s3-delay,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,\
completed,running @ 2026-03-04 05:06:00,completed @ 2026-03-04 05:06:10
'''
STAGE = '''\
Timestamp,Op-Count,,Byte-Count,,Avg-ResTime,,Avg-ProcTime,,Throughput,,\
Bandwidth,,Succ-Ratio,,Version-Info,,
,read,write,read,write,read,write,read,write,read,write,read,write,\
read,write,Min-Version,Version,Max-Version
05:06:05,2,1,2000,500,3,10,1.5,9,0.4,0.2,400,100,100%,50%,1,1,1
05:06:10,2,0,2000,0,7,N/A,3.5,N/A,0.4,0,400,0,100%,N/A,2,2,2
'''
HISTOGRAM = '''\
ResTime,s2-main-w1-main-read,(%),s2-main-w1-main-write,(%)
2~2.5,1,25%,0,0%
2.5~3,0,25%,0,0%
3~4,0,25%,0,0%
4~5,1,50%,0,0%
5~6,0,50%,0,0%
6~8,1,75%,0,0%
8~10,1,100%,0,0%
10~12,0,100%,1,100%
'''
MATRIX = 'Id,Op-Name,Op-Count,Byte-Count,Worker-Count,' + METRICS + \
    ''',Config-Info,Avg-DueTime,50%-DueTime,95%-DueTime,99%-DueTime,\
100%-DueTime
w12-s1-init-1,init-write,1,0,1,20,8,20,20,20,20,20,20,50,0,100%,,\
20,20,20,20,20
w12-s2-main-1,read,4,4000,2,5,2.5,6.003,8,8,8,8,8,0.4,400,100%,\
80% containers=c(1) objects=u(1-8),5,4.001,8,8,8
w12-s2-main-2,write,1,500,2,10,9,10,10,10,10,10,10,0.1,50,50%,20%,\
10,10,10,10,10
'''
HISTORY = '''\
Id,Name,Submitted-At,Started-At,Stopped-At,Op-Info,State,Detailed State
w12,small,2026-03-04 05:05:55,2026-03-04 05:06:00,2026-03-04 05:06:20,\
init read write,finished,running @ 2026-03-04 05:06:00,\
finished @ 2026-03-04 05:06:20
'''


def written(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(rows)
    return out.getvalue()


class TestTables(unittest.TestCase):

    maxDiff = None

    def setUp(self):
        self.result = Result.from_json(results.tiny())

    def test_the_files_are_those_of_cosbench(self):
        for expected, rows in (
                (WORKLOAD, tables.workload(self.result, timezone.utc)),
                (STAGE, tables.stage_series(self.result.stages[1],
                                            timezone.utc)),
                (HISTOGRAM, tables.histogram(self.result)),
                (MATRIX, [tables.MATRIX, *tables.matrix(self.result)]),
                (HISTORY, [tables.RUN_HISTORY, tables.run_history(
                    self.result, timezone.utc)])):
            self.assertEqual(expected, written(rows))

    def test_of_a_rate_times_from_when_due_are_behind_the_columns(self):
        samples = [Sample('op1', end - 1, end - .01, end, end, 10)
                   for end in (1, 2, 6)]
        found = Result.from_json(results.document([results.stage([{
            **results.work(samples, [results.operation(
                samples, 'read', 'read')]), 'rate': 9}], 's1-main'),
            *results.tiny()['stages'][1:]]))
        rows = tables.workload(found, timezone.utc)
        self.assertEqual(1, len({len(row) for row in rows}))
        self.assertEqual(list(tables.DUE), rows[0][-5:])
        self.assertEqual(list(tables.WORKLOAD),
                         rows[0][:len(tables.WORKLOAD)])
        self.assertEqual(['1000'] * 2, rows[1][-5:-3])
        self.assertEqual(['N/A'] * 5, rows[-1][-5:])
        heading, below, *rows = tables.stage_series(found.stages[0],
                                                    timezone.utc)
        self.assertEqual(['Version-Info', '', '', *tables.INTERVAL_DUE],
                         heading[-5:])
        self.assertEqual(['read'] * 2, below[-2:])
        self.assertEqual([['1', '1', '1'], ['2', '2', '2']], [
            [str(cell) for cell in row[-5:-2]] for row in rows])
        self.assertEqual(['1000'] * 2, [row[-2] for row in rows])
        self.assertAlmostEqual(1000, float(rows[0][-1]), delta=10)

    def test_the_file_of_a_stage_without_operations_has_its_columns(self):
        rows = list(tables.stage_series(self.result.stages[2]))
        self.assertEqual(['Timestamp', *tables.INTERVAL, 'Version-Info', '',
                          ''], rows[0])
        self.assertEqual(2, len(rows))

    def test_times_are_of_the_zone_and_count_from_the_begin(self):
        zone = timezone(timedelta(hours=2))
        row = tables.run_history(self.result, zone)
        self.assertEqual('2026-03-04 07:06:00', row[3])
        document = results.tiny()
        document['stages'][1]['works'][0]['started'] = results.BEGIN + 2
        rows = list(tables.stage_series(
            Result.from_json(document).stages[1], timezone.utc))
        self.assertEqual(['05:06:07', '05:06:12'],
                         [row[0] for row in rows[2:]])

    def test_works_of_other_intervals_share_the_file_of_a_stage(self):
        def work(name, ends, seconds):
            samples = [Sample('op1', end - .01, end - .01, end, end, 10)
                       for end in ends]
            return {**results.work(samples, [results.operation(
                samples, name, 'read')], name=name),
                'timeline': results.timeline(samples, seconds)}

        stage = Result.from_json(results.document([results.stage([
            work('fast', (1, 6), 5), work('slow', (4, 14), 10)],
            's1-main')])).stages[0]
        rows = list(tables.stage_series(stage, timezone.utc))[2:]
        self.assertEqual([
            ['05:06:05', 1, 'N/A'], ['05:06:10', 1, 1], ['05:06:20', 0, 1]],
            [row[:3] for row in rows])

    def test_a_work_without_histogram_is_not_in_its_file(self):
        document = results.tiny()
        document['stages'][1]['works'][0]['histogram'] = False
        self.assertEqual([['ResTime']], tables.histogram(
            Result.from_json(document)))

    def test_what_a_cell_holds_stays_in_it(self):
        document = results.document([], name='a,"b"\nc')
        text = written([tables.run_history(Result.from_json(document))])
        self.assertEqual('a,"b"\nc', next(csv.reader(io.StringIO(text)))[1])


class TestBins(unittest.TestCase):

    def test_each_time_is_in_one_bin_fine_where_operations_are_fast(self):
        tally = Result.from_json(results.generated(3)).stages[0].works[
            0].operations[0].tally
        edges, _ = bins([tally.response])
        self.assertTrue(all(high <= 1.5 * low for low, high
                            in zip(edges, edges[1:])))
        for steps in (tables.ROUND, EVEN):
            edges, (counts,) = bins([tally.response], steps)
            self.assertEqual(tally.count, sum(counts))
            self.assertEqual(sorted(set(edges)), edges)
            self.assertTrue(counts[0] and counts[-1])
            self.assertLessEqual(edges[0], tally.response.least)
            self.assertGreaterEqual(edges[-1], tally.response.most)
