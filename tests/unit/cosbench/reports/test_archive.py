# SPDX-License-Identifier: Apache-2.0
"""The archive: whole files, rows that are never there twice."""

import csv
import json
import os
import stat
import unittest
from datetime import timezone

from cosbench.reports import archive, read_result, tables, write_archive
from cosbench.reports.archive import MAX_RESULT
from swift_lightsync.common.records import RecordError
from tests.unit.cosbench import results
from tests.unit.cosbench.directory_case import new_directory


class TestArchive(unittest.TestCase):

    def setUp(self):
        self.above = new_directory(self)
        self.directory = os.path.join(self.above, 'w12-small')

    def write(self, document=None, name='w12-small'):
        write_archive(os.path.join(self.above, name),
                      document or results.tiny(), timezone.utc)

    def rows(self, *path):
        with open(os.path.join(self.above, *path), encoding='utf8',
                  newline='') as source:
            return list(csv.reader(source))

    def test_it_has_the_files_of_cosbench_and_two_more(self):
        self.write(dict(results.tiny(), xml='<workload/>'))
        self.assertEqual(
            ['report.html', 'result.json', 's1-init.csv', 's2-main.csv',
             's3-delay.csv', 'w12-small-rt-histogram.csv', 'w12-small.csv',
             'workload-config.xml'], sorted(os.listdir(self.directory)))
        self.assertEqual(['run-history.csv', 'w12-small', 'workloads.csv'],
                         sorted(os.listdir(self.above)))
        # What has passwords is for its owner only.
        for name in (archive.RESULT, archive.XML):
            mode = os.stat(os.path.join(self.directory, name)).st_mode
            self.assertEqual(0o600, stat.S_IMODE(mode), name)

    def test_its_files_have_what_the_tables_say(self):
        self.write()
        result = read_result(self.directory)
        for name, rows in (
                ('w12-small.csv', tables.workload(result, timezone.utc)),
                ('s2-main.csv', tables.stage_series(result.stages[1],
                                                    timezone.utc)),
                ('w12-small-rt-histogram.csv', tables.histogram(result))):
            self.assertEqual([[str(cell) for cell in row] for row in rows],
                             self.rows('w12-small', name))

    def test_no_cell_is_a_formula_to_a_spreadsheet(self):
        document = results.tiny()
        for number, text in enumerate((
                '=HYPERLINK("http://x")', '+1', '-1', '@SUM(A1)')):
            document['stages'][1]['works'][0]['operations'][0][
                'name'] = text
            document['stages'][1]['history'] = [[text, 1772600760]]
            self.write(document)
            cells = [cell for path in (
                ('w12-small', 'w12-small.csv'), ('workloads.csv',),
                ('run-history.csv',), ('w12-small', 's2-main.csv'))
                for row in self.rows(*path) for cell in row]
            self.assertIn("'" + text, cells)
            self.assertEqual([], [each for each in cells
                                  if each[:1] in tuple('=+-@')])

    def test_a_workload_written_again_replaces_itself_only(self):
        self.write()
        self.write({**results.tiny(), 'id': 'w1'}, 'w1-small')
        self.assertEqual(3, len(self.rows('run-history.csv')))
        self.assertEqual(7, len(self.rows('workloads.csv')))
        self.write({**results.tiny(), 'state': 'failed'})
        history = self.rows('run-history.csv')
        self.assertEqual([('Id', 'State'), ('w1', 'finished'),
                          ('w12', 'failed')],
                         [(row[0], row[6]) for row in history])
        self.assertEqual(
            ['Id', 'w1-s1-init-1', 'w1-s2-main-1', 'w1-s2-main-2',
             'w12-s1-init-1', 'w12-s2-main-1', 'w12-s2-main-2'],
            [row[0] for row in self.rows('workloads.csv')])

    def test_the_document_comes_back(self):
        self.write()
        with open(os.path.join(self.directory, archive.RESULT)) as source:
            self.assertEqual(results.tiny(), json.load(source))
        for path in (self.directory,
                     os.path.join(self.directory, archive.RESULT)):
            self.assertEqual('w12', read_result(path).id)

    def test_names_cannot_leave_the_directory(self):
        document = results.tiny()
        document.update(id='../../x', name='/etc/\ty')
        document['stages'][0]['id'] = '../s1'
        self.write(document)
        self.assertEqual(
            ['_.._x-_etc__y-rt-histogram.csv', '_.._x-_etc__y.csv',
             '_s1.csv', 'report.html', 'result.json', 's2-main.csv',
             's3-delay.csv'], sorted(os.listdir(self.directory)))
        self.assertLessEqual(
            len((archive.safe('\u20ac' * 200) + '-rt-histogram.csv.part')
                .encode()), 255)

    def test_a_document_that_is_none_leaves_nothing(self):
        with self.assertRaisesRegex(RecordError, 'result.stages is missing'):
            self.write({'version': 1, 'id': 'w1', 'name': 'n', 'state': 's'})
        self.assertEqual([], os.listdir(self.above))

    def test_a_history_that_is_no_text_is_named_and_kept(self):
        path = os.path.join(self.above, archive.RUN_HISTORY)
        with open(path, 'wb') as out:
            out.write(b'\xff\xfe\xff')
        with self.assertRaisesRegex(RecordError, path):
            self.write()
        with open(path, 'rb') as source:
            self.assertEqual(b'\xff\xfe\xff', source.read())

    def test_reading_what_is_no_result_names_the_file(self):
        path = os.path.join(self.above, 'x.json')
        for text in ('', '{', '[' * 100000, '[]', '{"version": 3}',
                     '1' * 5000, '\xff'):
            with open(path, 'w', encoding='latin-1') as out:
                out.write(text)
            with self.assertRaises(RecordError) as caught:
                read_result(path)
            self.assertTrue(str(caught.exception).startswith(path))
        with open(path, 'wb') as out:
            out.truncate(MAX_RESULT + 1)
        with self.assertRaisesRegex(RecordError, 'must be at most'):
            read_result(path)
