# SPDX-License-Identifier: Apache-2.0
"""The archive: what is in it after whatever happened."""

import os
import re
import stat
import unittest
from unittest import mock

from cosbench.controller import run_store as archives
from cosbench.controller.json_parts import dumps
from cosbench.controller.result_document import empty
from cosbench.controller.run_store import (
    RUN,
    Archive,
    ArchiveError,
    directory_name,
)
from cosbench.document.reader import read
from tests.unit.cosbench.directory_case import new_directory
from tests.unit.cosbench.documents import NORMAL, wrapped

XML = wrapped(NORMAL)
WORKLOAD = read(XML.encode()).workload


class ArchiveCase(unittest.TestCase):

    def setUp(self):
        place = new_directory(self)
        self.directory = os.path.join(place, 'archive')
        self.archive = self.open()

    def open(self):
        found = Archive(self.directory)
        self.addCleanup(lambda: found.close() if found in self.opened
                        else None)
        self.opened = getattr(self, 'opened', []) + [found]
        return found

    def reopen(self):
        self.archive.close()
        self.opened.remove(self.archive)
        self.archive = self.open()
        return self.archive

    def saved(self, **fields):
        run_id = self.archive.new('n')
        document = {**empty(run_id, WORKLOAD, XML, 1, 5.0, []), **fields}
        self.archive.save(document)
        return document


class TestArchive(ArchiveCase):

    def test_ids_go_on_where_they_were(self):
        first = self.archive.new('n')
        second = self.reopen().new('n')
        self.assertEqual(('w1', 'w2'), (first, second))
        # By number, not as text.
        for _ in range(9):
            last = self.archive.new('n')
        self.assertEqual('w11', last)
        self.assertEqual(last, self.reopen().ids[-1])

    def test_only_one_controller_has_an_archive(self):
        with self.assertRaisesRegex(ArchiveError, 'another controller'):
            Archive(self.directory)
        self.reopen()

    def test_others_may_not_read_it(self):
        document = self.saved()
        path = self.archive.path(document['id'])
        for each, allowed in ((self.directory, 0o700), (path, 0o700),
                              (os.path.join(path, RUN), 0o600)):
            self.assertEqual(allowed, stat.S_IMODE(os.stat(each).st_mode))

    def test_no_name_leads_out_of_it(self):
        for name in ('../../etc', '/etc/passwd', '..', 'a\0b', 'x' * 500,
                     '\u00e9'):
            found = directory_name('w1', name)
            self.assertRegex(found, r'\Aw1-[A-Za-z0-9_.-]{1,100}\Z')
            path = self.archive.path(self.archive.new(name))
            self.assertEqual(self.directory, os.path.dirname(path))

    def test_a_run_whose_controller_died_is_terminated(self):
        stage = {'id': 's1-s', 'name': 's', 'state': 'running',
                 'started': 6.0, 'stopped': None, 'reason': '',
                 'history': [['running', 6.0]], 'works': []}
        done = {**stage, 'state': 'completed', 'stopped': 6.0}
        waiting = {**stage, 'state': 'waiting', 'started': None,
                   'history': []}
        self.saved(state='processing', started=6.0,
                   stages=[done, stage, waiting])
        found, = self.reopen().recover()
        self.assertEqual('terminated', found['state'])
        self.assertEqual(['completed', 'terminated', 'skipped'],
                         [each['state'] for each in found['stages']])
        self.assertIn('controller died', found['warnings'][-1])
        path = self.archive.path(found['id'])
        self.assertIn('result.json', os.listdir(path))
        self.assertEqual([found], self.reopen().recover())

    def test_reports_that_were_not_all_written_are_written_again(self):
        document = self.saved(state='finished', started=6.0, stopped=7.0)
        path = self.archive.path(document['id'])
        with mock.patch.object(archives, 'write_archive',
                               side_effect=OSError('crash')), \
                self.assertLogs('cosbench.archive', 'ERROR'):
            self.archive.finish(document)
        self.assertNotIn('report.html', os.listdir(path))
        self.assertEqual([document], self.reopen().recover())
        self.assertIn('report.html', os.listdir(path))
        with mock.patch.object(archives, 'write_archive') as write:
            self.reopen().recover()
        write.assert_not_called()

    def test_a_damaged_run_is_told_of_and_does_not_hide_the_others(self):
        damaged, good = self.saved(), self.saved()
        path = os.path.join(self.archive.path(damaged['id']), RUN)
        with open(path, 'rb') as stream:
            data = bytearray(stream.read())
        for place in (3, 70, len(data) - 2):
            changed = bytearray(data)
            changed[place] ^= 1
            with open(path, 'wb') as stream:
                stream.write(changed)
            with self.assertLogs('cosbench.archive', 'ERROR') as logged:
                self.assertEqual([good], self.reopen().recover())
            self.assertIn(path, logged.output[0])

    def test_what_no_controller_wrote_is_told_of_and_left_out(self):
        good, bad = self.saved(), self.saved()
        files = self.files(good)
        path = os.path.join(self.archive.path(bad['id']), RUN)
        without = {**bad}
        del without['drivers']
        for text, reason in (
                (dumps({**bad, 'id': good['id'], 'state': 'processing'}),
                 "result.id: 'w1' must be w2"),
                (dumps({**bad, 'id': 'w9'}), "result.id: 'w9' must be w2"),
                (dumps({**bad, 'state': 'odd'}),
                 "result.state: 'odd' must be one of queuing, "),
                (dumps(without), 'result.drivers is missing'),
                # Terminated runs have their history told.
                (dumps({**bad, 'state': 'processing', 'history': {}}),
                 'result.history'),
                ('[' * 50000, 'recursion'), ('{', 'Expecting')):
            self.archive.write(bad['id'], text)
            with self.assertLogs('cosbench.archive', 'ERROR') as logged:
                self.assertEqual([good], self.reopen().recover())
            self.assertRegex(logged.output[0],
                             re.escape(path) + '.*' + reason)
            with self.assertRaisesRegex(ArchiveError, reason):
                self.archive.read(bad['id'])
            self.assertEqual(files, self.files(good))

    def test_one_that_cannot_be_terminated_does_not_hide_the_others(self):
        bad, good = self.saved(), self.saved()
        del bad['history']
        self.archive.save({**bad, 'state': 'processing'})
        with self.assertLogs('cosbench.archive', 'ERROR') as logged:
            self.assertEqual([good], self.reopen().recover())
        self.assertIn(self.archive.path(bad['id']), logged.output[0])

    def files(self, document):
        """:returns: name -> bytes of all that is there of a run"""
        path, found = self.archive.path(document['id']), {}
        for name in os.listdir(path):
            with open(os.path.join(path, name), 'rb') as stream:
                found[name] = stream.read()
        return found
