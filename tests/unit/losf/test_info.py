# SPDX-License-Identifier: Apache-2.0
"""swift-object-info and swift-get-nodes show what is in volumes."""

import contextlib
import io
import os
import subprocess
import sys
from itertools import count

from swift.cli import info
from swift.common.ring import Ring, RingBuilder

from tests.unit.losf.kv_world import (
    DEADLINE,
    PARTITION,
    KVTest,
    bytes_of,
    with_devices,
)
from tests.unit.losf.test_fragments import FragmentTest

setUpModule, tearDownModule = with_devices('d1')


class TestObjectInfo(KVTest):

    def setUp(self):
        super().setUp()
        # One that is in this partition by a part power of 2.
        self.object = next(
            name for name in map((self.id() + '-%d').__mod__, count())
            if int(self.hash(name)[0], 16) >> 2 == int(PARTITION))

    def put_object(self):
        self.write(bytes_of(100), self.now())

    def path(self):
        name, _ = self.only_file()
        return os.path.join(self.diskfile()._datadir, name)

    def shown(self, path, fails=False, **options):
        """Return what swift-object-info prints."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), (
                self.assertRaises(info.InfoSystemExit) if fails
                else contextlib.nullcontext()):
            info.print_obj(path, swift_dir=self.world.root, **options)
        return out.getvalue()

    def test_an_object_is_shown_and_its_data_checked(self):
        self.put_object()
        shown = self.shown(self.path())
        self.assertIn('Path: /a/c/' + self.object, shown)
        self.assertRegex(shown, r'ETag: \w{32} \(valid\)')
        self.assertRegex(shown, r'Content-Length: \d+ \(valid\)')
        shown = self.shown(self.path(), check_etag=False)
        self.assertRegex(shown, r'ETag: \w{32} \(not checked\)')
        self.assertRegex(shown, r'Content-Length: \d+ \(valid\)')

    def test_what_is_not_there_is_said(self):
        self.put_object()
        self.assertEqual("Data file doesn't exist\n",
                         self.shown(self.path() + 'x', fails=True))
        self.assertIn('not a path below a partition',
                      self.shown('/nowhere/1.data', fails=True))
        self.assertIn('index server at', self.shown(
            self.path().replace('/d1/', '/d2/'), fails=True))

    def test_nodes_are_told_how_to_list_an_object(self):
        self.put_object()
        ring = RingBuilder(2, 1, 0)
        ring.add_dev({'id': 0, 'region': 0, 'zone': 0, 'weight': 1,
                      'ip': '127.0.0.1', 'port': 1, 'device': 'd1'})
        ring.rebalance()
        path = os.path.join(self.world.root, 'object.ring.gz')
        ring.get_ring().save(path)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            info.print_item_locations(
                Ring(path), 'object', 'a', 'c', self.object)
        hint, = [each for each in out.getvalue().splitlines()
                 if each.startswith('ssh')]
        self.assertEqual(
            'ssh 127.0.0.1 "swift-losf-fsck dump ${DEVICE:-/srv/node*}/d1 '
            '--policy 0 --hash %s"' % self.hash(), hint)
        listed = subprocess.run(
            ['sh', '-c', hint.split('"')[1] + ' --no-mount-check'],
            env=dict(os.environ, DEVICE=self.world.root,
                     PATH=os.path.dirname(sys.executable) + os.pathsep +
                     os.environ['PATH']),
            capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((0, ''), (listed.returncode, listed.stderr))
        self.assertIn(self.only_file()[0], listed.stdout)


class TestFragmentInfo(TestObjectInfo, FragmentTest):
    """The same with fragments of erasure coding."""

    def put_object(self):
        self.put(2, self.now())
