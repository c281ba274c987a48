# SPDX-License-Identifier: Apache-2.0
"""Daemons refuse a Swift without the patches, all alike: real processes."""

import signal

from tests.unit.losf.daemons import DAEMONS, DaemonTest

#: takes something of the patches away
UNPATCHED = """
from swift.common import exceptions
from swift.obj import auditor, diskfile
from swift.obj.watchers import dark_data
del {owner}.{hook}
"""
MANAGER = 'diskfile.BaseDiskFileManager'


class TestRefusal(DaemonTest):

    watchers = 'swift#dark_data'

    def setUp(self):
        super().setUp()
        # Or else the relinker has nothing to do.
        self.builder.prepare_increase_partition_power()
        self.save_rings()

    def check(self, name, hook, owner=MANAGER):
        done = self.run_daemon(name, UNPATCHED.format(owner=owner, hook=hook))
        self.assertIn(done.returncode, (1, -signal.SIGUSR2), done.stderr)
        line = ('Swift lacks what objects in volumes need (%s): '
                'run swift-lightsync-patch apply' % hook)
        # Of an auditor that has begun, the log is all that is to be seen.
        # Workers of a relinker write at the same time, and end lines later.
        self.assertEqual('', done.stderr.replace(line, '').strip())
        errors = [each for each in self.logged() if 'Starting' not in each]
        self.assertTrue(errors)
        self.assertEqual([], [each for each in errors
                              if not each.endswith(line)])

    def test_each_daemon_says_what_to_do_and_ends(self):
        for name in set(DAEMONS) - {'relinker cleanup'}:
            with self.subTest(name):
                self.check(name, 'list_dir')

    def test_fragments_need_one_more_patch(self):
        self.check('reconstructor', 'rename_file')

    def test_watchers_need_one_more_patch(self):
        self.check('auditor', 'DeleteRequest', 'exceptions')
