# SPDX-License-Identifier: Apache-2.0
"""swift-version-sync-report: what it reads, says and exits with."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import time
import unittest
from dataclasses import replace
from unittest import mock

from swift_lightsync.common.records import RecordError
from swift_lightsync.versioning.sites.propagator import SECTION
from swift_lightsync.versioning.sites.sync_report import default_confs, main
from swift_lightsync.versioning.sites.sync_state import (
    FILE,
    KEY,
    PeerLag,
    SyncState,
    read,
)
from tests.unit.versioning.sites_world import SitesTestCase


class TestReport(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.conf = os.path.join(self.root, 'container-server.conf')
        with open(self.conf, 'w') as conf:
            conf.write('[DEFAULT]\nrecon_cache_path = %s\n[%s]\n' % (
                self.root, SECTION))
        now = time.time()
        self.peer = PeerLag('paris', 0, None, 7, 700, 0, 0, '', now - 60, 0,
                            None)
        self.state = SyncState('rome', now, 6, 1, 2, (self.peer,))
        self.now = now

    def write_peer(self, **values):
        """Write a record whose only peer has other values."""
        self.write(replace(self.state, peers=(
            replace(self.peer, **values),)))

    def write(self, state):
        with open(os.path.join(self.root, FILE), 'w') as recon:
            json.dump({KEY: state.to_json()}, recon)

    def report(self, *args):
        """Return the exit status and what is printed."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = main([self.conf, *args])
        return status, out.getvalue() + err.getvalue()

    def test_what_is_recorded_is_read(self):
        self.write(self.state)
        self.assertEqual(self.state, read(self.root))

    def test_all_is_well(self):
        self.write(self.state)
        status, text = self.report()
        self.assertEqual(0, status)
        self.assertRegex(text, 'site paris has all, compared 6.* ago; '
                         'shipped 7 changes')
        status, text = self.report('--json')
        self.assertEqual((0, True, 'rome'), (
            status, json.loads(text)['well'],
            json.loads(text)['nodes'][0]['state']['site']))

    def test_a_site_to_which_nothing_is_sent_is_told_of(self):
        self.write(self.state)
        with open(self.conf, 'a') as conf:
            conf.write('site_preference = oslo, rome, paris\n')
        status, text = self.report()
        self.assertEqual(0, status)
        self.assertRegex(text, 'site paris has all')
        self.assertIn('site oslo has no section', text)
        self.assertNotRegex(text, '(rome|paris) has no section')

    def test_a_site_that_lags_is_told_of_when_it_lags_too_long(self):
        self.write_peer(rows=3, oldest=self.now - 100)
        self.assertEqual(0, self.report()[0])
        status, text = self.report('--max-seconds', '50')
        self.assertEqual(1, status)
        self.assertIn('may lack 3 changes', text)
        self.assertIn('! ', text)

    def test_one_is_not_counted_as_many(self):
        self.write_peer(rows=1, oldest=self.now - 1)
        self.assertRegex(self.report()[1], 'may lack 1 change, oldest')

    def test_a_refused_deletion_is_not_said_to_be_a_version(self):
        self.write_peer(rows=1, oldest=self.now - 1000,
                        error='the container has versions')
        self.assertRegex(self.report()[1], 'paris has not taken a change for '
                         r'\d+\.\d s: the container has versions')

    def test_nobody_has_all_before_a_comparison_has_said_so(self):
        for peer in (replace(self.peer, compared=None),
                     replace(self.peer, differing=1, since=self.now)):
            self.write(replace(self.state, peers=(peer,)))
            status, text = self.report()
            self.assertEqual(0, status)
            self.assertNotIn('has all', text)

    def test_nobody_has_all_who_was_not_compared_again(self):
        self.write_peer(error='403: no peer')
        status, text = self.report()
        self.assertEqual(1, status)
        self.assertIn('paris was not compared again: 403: no peer', text)
        self.assertIn('paris had all, compared', text)

    def test_containers_that_differ_for_too_long_are_told_of(self):
        self.write_peer(differing=3, since=self.now - 100)
        self.assertEqual(0, self.report()[0])
        status, text = self.report('--max-seconds', '50')
        self.assertEqual(1, status)
        self.assertIn('! %s: 3 containers differ from those of site paris' %
                      self.root, text)

    def test_a_site_that_does_not_answer_is_told_of(self):
        self.write_peer(failures=2, error='refused\x1b[0m')
        status, text = self.report()
        self.assertEqual(1, status)
        self.assertIn('paris does not answer: refused?[0m', text)

    def test_a_propagator_that_is_silent_is_told_of(self):
        self.assertEqual(1, self.report()[0])
        self.assertIn('never reported', self.report()[1])
        self.write(replace(self.state, updated=self.now - 1000))
        self.assertIn('not reported for', self.report()[1])

    def test_what_is_no_record_is_told_of(self):
        for text in ('x', '[]', '{"%s": 7}' % KEY,
                     '{"%s": {"site": "rome"}}' % KEY):
            with open(os.path.join(self.root, FILE), 'w') as recon:
                recon.write(text)
            with self.assertRaises(RecordError):
                read(self.root)
            self.assertEqual(1, self.report()[0])

    def test_without_a_conf_it_looks_where_swift_init_does(self):
        with mock.patch.dict(os.environ, SWIFT_DIR=self.root):
            self.assertEqual([self.conf], default_confs())
            os.mkdir(os.path.join(self.root, 'container-server'))
            self.assertEqual([os.path.join(self.root, 'container-server')],
                             default_confs())

    def test_a_conf_that_is_not_there_is_named_once(self):
        os.unlink(self.conf)
        status, text = self.report()
        self.assertEqual((2, 1), (status, text.count(self.conf)))

    def test_a_conf_without_the_section_is_a_wrong_call(self):
        with open(self.conf, 'w') as conf:
            conf.write('[DEFAULT]\n')
        status, text = self.report()
        self.assertEqual(2, status)
        self.assertIn(SECTION, text)


class TestRecorded(SitesTestCase):

    def test_a_propagator_records_what_the_report_reads(self):
        self.rome.make_container()
        self.rome.put('o', b'12345')
        self.oslo.go_away()
        propagator = self.rome.propagate()
        state = read(self.rome.root)
        self.assertEqual(('rome', 6), (state.site, state.databases))
        paris, oslo = state.peers
        self.assertEqual(('paris', 0), (paris.site, paris.failures))
        self.assertGreaterEqual(paris.shipped_bytes, 5)
        self.assertGreater(oslo.failures, 0)
        self.assertEqual(0, oslo.shipped)
        self.assertEqual(state.peers, propagator.state().peers)
