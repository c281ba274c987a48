# SPDX-License-Identifier: Apache-2.0
"""Swift's dark data watcher logs, quarantines and deletes what is in volumes.

An object is dark if no container server lists it.
"""

from unittest import mock

from swift.common.exceptions import ClientException
from swift.obj.auditor import AuditorWorker
from swift.obj.watchers import dark_data

from tests.unit.losf.auditing import UNLIMITED, AuditTest
from tests.unit.losf.test_fragments import FragmentTest

DARK, LISTED = 'dark', 'listed'


def listing(node, part, account, container, prefix, **kwargs):
    """Answer as a container server that lists one object."""
    if prefix == 'unknown':
        raise ClientException('away')
    return {}, [{'name': LISTED}] if prefix == LISTED else []


class TestDarkData(AuditTest):

    def setUp(self):
        super().setUp()
        for patch in (
                mock.patch.object(dark_data, 'direct_get_container', listing),
                mock.patch.object(dark_data, 'Ring', return_value=mock.Mock(
                    get_nodes=lambda *names: (1, [{}, {}, {}])))):
            self.enterContext(patch)
        for name in (DARK, LISTED, 'unknown'):
            self.put_object(name)

    def put_object(self, name):
        self.write(b'data', self.now(), name)

    def watch(self, action):
        """Let an auditor go round once, and return its watcher."""
        worker = AuditorWorker(
            self.conf(files_per_second=UNLIMITED, watchers='dark_data',
                      recon_cache_path=self.world.root), self.logger,
            self.world.path('recon'), None, watcher_defs={'dark_data': {
                'klass': dark_data.DarkDataWatcher,
                'conf': {'action': action, 'grace_age': '0'}}})
        with mock.patch.object(self.logger.logger, 'handle') as handle:
            worker.audit_all_objects()
        self.assertEqual(0, worker.errors)
        self.assertEqual([], [call.args[0].getMessage() for call
                              in handle.mock_calls if call.args[0].exc_info])
        return worker.watchers[0].watcher

    def assert_left(self, *names, quarantined=0):
        self.assertEqual(
            sorted(names), sorted(name for name in (DARK, LISTED, 'unknown')
                                  if self.files(name)))
        self.assertEqual(quarantined, len(self.quarantined(DARK)))

    def test_log_leaves_all_objects(self):
        watcher = self.watch('log')
        self.assertEqual((1, 1, 1), (watcher.tot_dark, watcher.tot_okay,
                                     watcher.tot_unknown))
        self.assert_left(DARK, LISTED, 'unknown')

    def test_quarantine_takes_what_no_container_lists(self):
        self.watch('quarantine')
        self.assert_left(LISTED, 'unknown', quarantined=1)

    def test_delete_removes_what_no_container_lists(self):
        self.watch('delete')
        self.assert_left(LISTED, 'unknown')


class TestDarkFragments(TestDarkData, FragmentTest):
    """The same with fragments of erasure coding."""

    def put_object(self, name):
        self.object = name
        self.put(2, self.now())
