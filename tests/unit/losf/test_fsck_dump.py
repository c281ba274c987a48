# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck dump: read-only, with and without the index server."""

import contextlib
import io
import os
import shutil
import threading

from swift_losf.daemon.index_server import IndexServer, Options
from swift_losf.fsck import cli as fsck
from swift_losf.fsck.dump import partitions_of
from swift_losf.index.index_lock import locked
from swift_losf.volumes.volume import mark_quarantined
from tests.unit.losf.fsck_world import (
    HASH,
    HASHES,
    NAME,
    PARTITION,
    TOMBSTONE,
    FsckTest,
)

#: of a hash of a partition that can have it, with a partition power of 8
HIGH = bytes([PARTITION]) + bytes(15)


class DumpTest(FsckTest):

    def setUp(self):
        super().setUp()
        with self.index() as index:
            self.high = self.put(index, hash_=HIGH, number=3)
            mark_quarantined(self.layout, self.files[HASHES[0]])
            index.quarantine(PARTITION, HASHES[0])
        self.release(3)
        self.before = self.content()

    def dump(self, *args, status=0):
        found, lines = self.run_fsck('dump', *args)
        self.assertEqual(status, found)
        return lines

    def assert_all_shown(self):
        volumes = self.dump()
        self.assertEqual(
            [(1, 'data', 5), (2, 'tombstones', 1), (3, 'data', 1)],
            [(each['volume'], each['type'], each['files'])
             for each in volumes])
        header, *records = self.dump('--volume', '1')
        self.assertEqual(
            [each.hex() for each in HASHES] + [HASH.hex(),
                                               bytes(16).hex()],
            [each['hash'] for each in records])
        self.assertEqual(['no file', NAME, NAME, NAME, NAME, 'no file', NAME],
                         [each['index'] for each in records])
        self.assertEqual([True] + 6 * [False],
                         [each['quarantined'] for each in records])
        shown, = self.dump('--hash', HIGH.hex())
        self.assertEqual(
            (PARTITION, NAME, 3, self.high.offset, {'name': NAME}),
            tuple(shown[each] for each in (
                'partition', 'name', 'volume', 'offset', 'metadata')))
        status, (shown, _) = self.run_fsck('quarantine')
        self.assertEqual(0, status)
        self.assertEqual((HASHES[0].hex(), NAME, True), tuple(
            shown[each] for each in ('hash', 'name', 'quarantined')))
        self.assertEqual([shown], self.dump('--hash', HASHES[0].hex()))
        self.assertEqual([{'files': 0, 'hash': 32 * 'f'}],
                         self.dump('--hash', 32 * 'f', status=1))


class TestDump(DumpTest):

    def test_all_is_shown_and_nothing_changed(self):
        self.assert_all_shown()
        self.assertEqual(self.before, self.content())

    def test_text_says_the_same(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(0, fsck.main([
                'dump', self.device, '--no-mount-check', '--volume', '2']))
        header, record = out.getvalue().splitlines()
        self.assertRegex(header, 'volume 2, type tombstones, alignment')
        self.assertRegex(record, 'offset 8192, .* name %s' % TOMBSTONE)

    def test_damage_is_shown(self):
        self.overwrite(1, self.files[HASHES[1]].footer_offset, b'x')
        self.overwrite(2, 0, bytes(8192))
        records = self.dump('--volume', '1')
        self.assertIn('CRC', records[2]['damaged'])
        self.assertEqual(self.files[HASHES[1]].offset, records[2]['offset'])
        self.assertIn('magic', self.dump('--volume', '2', status=1)[0][
            'damaged'])
        self.assertIn('magic', self.dump()[1]['damaged'])
        self.dump('--volume', '9', status=2)
        self.assertIn('no such volume', self.stderr.getvalue())

    def test_a_volume_is_shown_without_index(self):
        shutil.rmtree(self.layout.index)
        with self.assertLogs('swift_losf.fsck.dump', 'WARNING'):
            records = self.dump('--volume', '1')[1:]
        self.assertEqual(7, len(records))
        self.assertNotIn('index', records[0])
        self.dump('--hash', HASHES[0].hex(), status=2)
        self.assertFalse(os.path.exists(self.layout.index))

    def test_it_is_said_that_the_server_does_not_answer(self):
        with locked(self.layout):
            with self.assertLogs('swift_losf.fsck.dump', 'WARNING') as logs:
                self.assertEqual(8, len(self.dump('--volume', '1')))
            self.assertIn('index server at', logs.output[0])
            self.dump('--hash', HIGH.hex(), status=2)
            self.assertIn('index server at', self.stderr.getvalue())

    def test_the_partition_of_a_hash_is_found_for_each_power(self):
        hash_ = bytes.fromhex('89abcdef' + 24 * '0')
        for power in range(1, 33):
            self.assertIn(0x89abcdef >> 32 - power, partitions_of(hash_))


class TestOnline(DumpTest):

    def test_the_server_is_asked_if_it_runs(self):
        server = IndexServer(self.layout, Options(sweep_interval=3600))
        thread = threading.Thread(target=server.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.stop)
        self.wait_for(lambda: server.service.index)
        self.assert_all_shown()
        self.assertEqual(2, self.run_fsck('check')[0])
