# SPDX-License-Identifier: Apache-2.0
"""Power cuts of a node.

The node's processes are killed and its file system is shut down without its
log being written (``xfs_io -x -c shutdown``): what XFS had not brought to the
disk by then is lost, file data and log records alike, and the next mount
recovers what is left. That is a cut of the power of a machine whose disks
honour flushes; writes that a disk itself loses or tears are not simulated.

What rsync received last is not on the disk then, though its name is: the file
is shorter than its metadata say. As in stock Swift that is the auditor's to
find, who puts it into quarantine; then replication brings it anew.
"""

import logging
import os
import unittest
from shutil import which
from tempfile import TemporaryDirectory

from swift.obj.diskfile import get_data_dir

from swift_lightsync.sync.changed_file import (
    FingerprintError,
    is_current,
    load,
)
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.fingerprints import Fingerprints
from tests.crash.crashes import CrashTestCase, SlowRsync, wait_for
from tests.crash.losf_power import forget, shut_down
from tests.functional.clusters import play_round


@unittest.skipUnless(os.geteuid() == 0 and which('xfs_io'),
                     'only root can shut down an XFS file system')
class TestPowerCut(CrashTestCase):
    fields = {'sync_method': 'rsync', 'disks': 'xfs'}

    def setUp(self):
        self.change_all()
        # The fingerprints of what comes to be out of date are kept.
        for _ in range(2):
            play_round(self.cluster)
        self.change_all()

    def cut(self, node):
        """Cut the power of a node, and give it back to its disk alone."""
        device, = self.cluster.devices(node)
        path = self.device_path(node)
        self.cluster.kill(node)
        shut_down(path)
        with self.assertRaises(OSError):
            os.stat(path)
        forget(path, self.cluster.layout.image(device))
        self.cluster.mount(node, device)

    def assert_fingerprints_are_true(self, node):
        """What a changed.pkl that counts says is what Swift's own hashes say.

        :returns: how many of them count
        """
        device, = self.cluster.devices(node)
        objects = os.path.join(self.device_path(node),
                               get_data_dir(self.objects.policy))
        manager = self.objects._diskfile(
            {'device': device}, 0, 'x').manager
        current = 0
        for partition in os.listdir(objects):
            path = os.path.join(objects, partition)
            try:
                kept = load(path)
            except FingerprintError:
                # Torn: it counts for nothing.
                kept = None
            known = kept if kept and is_current(path, kept) else None
            current += bool(known)
            _, said = Fingerprints(manager, self.objects.policy,
                                   logging.getLogger('crash')).get(
                                       device, int(partition))
            hashes = manager._get_hashes(device, partition,
                                         self.objects.policy)[1]
            self.assertEqual(merkle.root(hashes), said.root, path)
            if known:
                self.assertEqual(merkle.root(hashes), known.root, path)
            recalculated = manager._get_hashes(
                device, partition, self.objects.policy, do_listdir=True)[1]
            self.assertEqual(recalculated, hashes, path)
        return current

    def test_after_a_pass(self):
        play_round(self.cluster)
        self.cut(1)
        self.assert_fingerprints_are_true(1)
        self.cluster.start(1)
        self.assert_converges_after_the_cut()

    def test_after_all_was_written_the_fingerprints_still_count(self):
        play_round(self.cluster)
        play_round(self.cluster)
        os.sync()
        self.cut(2)
        self.assertTrue(self.assert_fingerprints_are_true(2))
        self.cluster.start(2)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_amid_a_transfer_to_the_node(self):
        slow = SlowRsync(self.enterContext(TemporaryDirectory()))
        passes = [self.start_pass(node, slow) for node in (1, 2, 3)]
        wait_for(self.temporary_files, 'a file that is being received')
        os.killpg(passes[2].pid, 9)
        self.cut(3)
        self.assert_fingerprints_are_true(3)
        self.cluster.start(3)
        for process in passes:
            self.end_session(process)
        self.assert_converges_after_the_cut()

    def test_of_all_nodes_one_after_the_other(self):
        for node in (1, 2, 3):
            play_round(self.cluster)
            self.cut(node)
            self.assert_fingerprints_are_true(node)
            self.cluster.start(node)
        self.assert_converges_after_the_cut()

    def assert_converges_after_the_cut(self):
        self.assert_nothing_lost()
        for node in self.cluster.spec.node_numbers():
            self.cluster.run_on(node, [
                self.cluster.layout.launcher('swift-object-auditor'),
                self.cluster.conf_path('object-server', node), '--once'])
        self.assert_converges()
