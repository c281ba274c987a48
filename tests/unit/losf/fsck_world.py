# SPDX-License-Identifier: Apache-2.0
"""What the tests of swift-losf-fsck share."""

import contextlib
import io
import json
import os
import shutil

from swift_losf.format import keys
from swift_losf.fsck import cli as fsck
from swift_losf.index.db import Database
from swift_losf.index.index import Index
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    IndexTest,
    all_files,
)

HASHES = [bytes([number]) * 16 for number in range(1, 6)]


class FsckTest(IndexTest):
    """A device with a few files, whose index nobody has open."""

    def setUp(self):
        super().setUp()
        index = Index(self.layout.index)
        self.files = {}
        for hash_ in HASHES:
            self.files[hash_] = self.put(index, hash_=hash_,
                                         data=hash_ * 400)
        self.tombstone = self.put(index, TOMBSTONE)
        self.removed = self.put(index, OTHER, data=b'removed' * 100)
        self.last = self.put(index, hash_=bytes(16), data=b'last')
        index.remove(PARTITION, HASH, [OTHER])
        index.close()
        self.release(1)
        self.release(2)

    def run_fsck(self, command, *args):
        """:returns: (the exit status, the objects that were printed)"""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(io.StringIO()) as self.stderr:
            status = fsck.main([command, self.device, '--no-mount-check',
                                '--json', '--swift-dir', self.device, *args])
        return status, [json.loads(line)
                        for line in out.getvalue().splitlines()]

    def kinds(self, lines):
        return [line['kind'] for line in lines if 'kind' in line]

    def content(self):
        """:returns: all entries, and all bytes of the volumes"""
        db = Database(self.layout.index)
        with contextlib.closing(db):
            entries = list(db.scan(b'', b'\xff'))
        volumes = {}
        for name in os.listdir(self.layout.volumes):
            with open(os.path.join(self.layout.volumes, name), 'rb') as file:
                volumes[name] = file.read()
        return entries, volumes

    @contextlib.contextmanager
    def changed(self):
        """A Change of the index as it is on the disk."""
        db = Database(self.layout.index)
        with contextlib.closing(db):
            with db.change() as change:
                yield change

    @contextlib.contextmanager
    def index(self):
        with contextlib.closing(Index(self.layout.index)) as index:
            yield index

    def sweep(self):
        """Give back, as an index server does, all that is to be given back."""
        with self.index() as index:
            self.sweep_once(index)
            self.assertEqual(0, index.statistics().dead_bytes)
            self.assert_counted(index)

    def listed(self):
        """:returns: {(hash, name): Location} of all files"""
        with self.index() as index:
            return {(hash_, name): location for _, hash_, name, location
                    in all_files(index.reader)}

    def remake_index(self):
        """Have the index made anew, as a server does that is started."""
        shutil.rmtree(self.layout.index)
        self.recover().close()

    def in_quarantine(self):
        with self.index() as index:
            return [each[1:] for each in index.reader.list_quarantine()[0]]

    def invalidated(self):
        try:
            with open(os.path.join(self.layout.partition(PARTITION),
                                   'hashes.invalid')) as lines:
                return sorted(set(lines.read().split()))
        except FileNotFoundError:
            return []


class MendTest(FsckTest):
    """Each damage is found, only found by a dry run, and put right."""

    def assert_mended(self, *kinds, args=()):
        before = self.content()
        for command in (['check'], ['repair', '--dry-run']):
            status, lines = self.run_fsck(*command, *args)
            self.assertEqual((1, sorted(kinds)),
                             (status, sorted(self.kinds(lines))), lines)
        self.assertEqual(before, self.content())
        status, lines = self.run_fsck('repair', *args)
        self.assertEqual((0, sorted(kinds)),
                         (status, sorted(self.kinds(lines))), lines)
        self.assertTrue(all(line['mended'] for line in lines[:-1]), lines)
        self.assert_sound(*args)
        return lines[-1]['summary']

    def assert_sound(self, *args):
        after = self.content()
        for command in ('check', 'repair'):
            status, lines = self.run_fsck(command, *args)
            self.assertEqual((0, []), (status, self.kinds(lines)), lines)
        self.assertEqual(after, self.content())
        self.sweep()
        status, lines = self.run_fsck('check', '--data')
        self.assertEqual((0, []), (status, self.kinds(lines)), lines)

    def key(self, hash_, name=NAME):
        return keys.file_key(PARTITION, hash_, name)
