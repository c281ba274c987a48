# SPDX-License-Identifier: Apache-2.0
"""``cosbench run``: what it says, and leaves if it does not come to an end."""

import asyncio
import contextlib
import io
import json
import os
import re
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from cosbench.commands import cli
from cosbench.commands.progress import Progress
from cosbench.controller import local
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from tests.unit.cosbench import results
from tests.unit.cosbench.console.sites import SHORT
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import reads


class BeginCase(DirectoryCase):

    def run_it(self, text, *more):
        """:returns: exit status, and what it says on stderr"""
        self.put('w.xml', text)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = cli.main(['run', self.path('w.xml'), '--archive',
                               self.path('archive'), *more])
        return status, said.getvalue()

    def opened(self):
        """:returns: the controller that is the next on the archive"""
        archive = Archive(self.path('archive'))
        self.addCleanup(archive.close)
        controller = Controller(archive, [])
        asyncio.run(controller.open())
        return controller


class TestStates(BeginCase):

    def test_one_that_is_killed_before_it_began_is_run_by_nobody(self):
        archive = Archive(self.path('archive'))
        Controller(archive, []).begin(SHORT.encode())
        archive.close()
        self.assertEqual('terminated',
                         self.opened().document('w1')['state'])

    def test_one_whose_drivers_do_not_start_has_failed(self):
        with mock.patch.object(local.Pool, 'start', side_effect=OSError(
                'a driver process did not start')):
            status, said = self.run_it(SHORT, '--quiet')
        self.assertEqual((1, 'cosbench: a driver process did not start\n'),
                         (status, said))
        found = self.opened().document('w1')
        self.assertEqual(
            ('failed', ['OSError: a driver process did not start']),
            (found['state'], found['warnings']))


class TestJson(BeginCase):

    def test_a_file_that_cannot_be_written_is_found_before_the_run(self):
        path = self.path('absent/out.json')
        self.assertEqual(
            (2, 'cosbench: --json %s: No such file or directory\n' % path),
            self.run_it(SHORT, '--json', path))
        self.assertFalse(os.path.exists(self.path('archive')))

    def test_a_run_that_is_refused_leaves_what_is_in_it(self):
        path = self.put('out.json', 'before')
        self.assertEqual(2, self.run_it('<workload/>', '--json', path)[0])
        with open(path) as stream:
            self.assertEqual('before', stream.read())
        absent = self.path('absent.json')
        self.assertEqual(2, self.run_it('<workload/>', '--json', absent)[0])
        self.assertFalse(os.path.exists(absent))

    def test_a_directory_is_no_file(self):
        self.assertEqual(2, self.run_it(SHORT, '--json', self.directory)[0])

    def test_a_link_stays_and_leads_to_what_is_new(self):
        document = self.put('real.json', 'before')
        os.symlink(document, self.path('link.json'))
        self.assertEqual(0, self.run_it(
            SHORT, '--quiet', '--json', self.path('link.json'))[0])
        self.assertTrue(os.path.islink(self.path('link.json')))
        with open(document) as stream:
            self.assertEqual('finished', json.load(stream)['state'])
        self.assertEqual([], [each for each in os.listdir(self.directory)
                              if each.endswith('.new')])

    def test_unknown_keys_are_refused_if_that_is_asked_for(self):
        status, said = self.run_it(reads(
            'workers="1" totalOps="1" config="rateX=5"'), '--strict')
        self.assertEqual(2, status)
        self.assertIn('did you mean rate?', said)
        self.assertFalse(os.path.exists(self.path('archive')))


class TestProgress(unittest.TestCase):

    def said(self, quiet, **fields):
        out = io.StringIO()
        Progress(None, out, quiet).end({**results.tiny(), **fields})
        return out.getvalue().splitlines()

    def test_what_went_wrong_is_said_quiet_or_not(self):
        stages = results.tiny()['stages']
        stages[0].update(state='failed', reason='all\nis lost')
        line = 'w12 small: failed: init: all is lost'
        found = {'state': 'failed', 'stages': stages}
        self.assertEqual([line], self.said(True, **found))
        self.assertEqual(line, self.said(False, **found)[0])
        self.assertEqual(['w12 small: failed: the last'], self.said(
            True, state='failed', warnings=['the first', 'the last']))
        self.assertEqual(['w12 small: cancelled'],
                         self.said(True, state='cancelled'))

    def test_what_went_well_is_said_unless_quiet(self):
        self.assertEqual([], self.said(True))
        self.assertEqual('w12 small: finished', self.said(False)[0])

    def test_the_first_rate_of_a_stage_is_since_its_begin(self):
        work = SimpleNamespace(
            shares=[SimpleNamespace(progress=SimpleNamespace(operations=40))],
            measured=SimpleNamespace(failed=0))
        stage = SimpleNamespace(
            index=0, stage=SimpleNamespace(name='main'), works=[work],
            started=time.time() - 2, state=SimpleNamespace(value='running'))
        out = io.StringIO()
        Progress(None, out)._line(SimpleNamespace(current=stage,
                                                  stages=[stage]))
        rate, = re.findall(r'40 operations, (\d+) a second', out.getvalue())
        # Less on a busy machine.
        self.assertTrue(0 < int(rate) <= 20, rate)
