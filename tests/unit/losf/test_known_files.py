# SPDX-License-Identifier: Apache-2.0
"""known_files: what is answered from memory, what is asked of the index."""

import errno
import unittest
from dataclasses import replace

from swift_losf.diskfile.known_files import (
    KnownMetadata,
    ListedSuffix,
    OneObject,
)
from swift_losf.format.layout import ObjectPath
from swift_losf.format.values import WITHHELD, Location

HASH = '0' * 29 + 'abc'
OTHER = '1' * 29 + 'abc'
SUFFIX = '/srv/d1/objects/3/abc'
PLACE = Location(1, 4096, 1, 2, 3)
MOVED = Location(2, 4096, 1, 2, 3)


class FakeStore:
    """:param files: a dict of hash to a dict of file names to Locations"""

    def __init__(self, files):
        self.files = files
        self.asked = []

    def list_suffix(self, partition, suffix):
        self.asked.append('suffix')
        return [(each, list(files)) for each, files in self.files.items()]

    def list_hash(self, partition, object_hash):
        self.asked.append('hash')
        return list(self.files.get(object_hash, {}).items())

    ask_for_hash = list_hash

    def has_files(self, partition, suffix):
        self.asked.append('has')
        return any(self.files.values())

    def remove(self, partition, object_hash, names):
        for name in names:
            del self.files[object_hash][name]

    def open(self, where, location):
        if location not in self.files[where.object_hash].values():
            raise FileNotFoundError(errno.ENOENT, 'moved')
        return location


class KnownFilesTest(unittest.TestCase):

    def setUp(self):
        self.store = FakeStore({HASH: {'1.data': PLACE},
                                OTHER: {'2.ts': PLACE}})

    def find(self, path):
        return self.store, ObjectPath.parse(path)


class TestListedSuffix(KnownFilesTest):

    def setUp(self):
        super().setUp()
        self.files = ListedSuffix(self.find, SUFFIX, {
            HASH: ['1.data'], OTHER: ['2.ts']})

    def test_what_was_listed_is_not_asked_for(self):
        self.assertEqual([HASH, OTHER], self.files.list_dir(SUFFIX))
        self.assertEqual(['1.data'],
                         self.files.list_dir('%s/%s' % (SUFFIX, HASH)))
        with self.assertRaises(OSError) as caught:
            self.files.remove_dir(SUFFIX)
        self.assertEqual(errno.ENOTEMPTY, caught.exception.errno)
        self.assertEqual([], self.store.asked)

    def test_a_hash_is_told_once_from_the_listing(self):
        path = '%s/%s' % (SUFFIX, HASH)
        self.files.list_dir(path)
        self.store.files[HASH] = {'3.data': PLACE}
        self.assertEqual(['3.data'], self.files.list_dir(path))

    def test_another_suffix_is_asked_for(self):
        other = SUFFIX[:-3] + 'def'
        self.assertEqual([HASH, OTHER], self.files.list_dir(other))
        with self.assertRaises(OSError):
            self.files.remove_dir(other)
        self.assertEqual(['suffix', 'has'], self.store.asked)

    def test_a_suffix_that_was_emptied_is_removed(self):
        self.files.remove_file('%s/%s/1.data' % (SUFFIX, HASH))
        with self.assertRaises(OSError):
            self.files.remove_dir(SUFFIX)
        self.files.remove_file('%s/%s/2.ts' % (SUFFIX, OTHER))
        self.files.remove_dir(SUFFIX)
        self.assertEqual(['has', 'has'], self.store.asked)


class TestOneObject(KnownFilesTest):
    path = '%s/%s' % (SUFFIX, HASH)

    def test_a_file_is_opened_where_it_was_listed(self):
        files = OneObject(self.find, self.path)
        self.assertEqual(['1.data'], files.list_dir(self.path))
        self.assertEqual(PLACE, files.open_data_file(self.path + '/1.data'))
        self.assertEqual(['hash'], self.store.asked)

    def test_given_files_are_not_asked_for(self):
        files = OneObject(self.find, self.path, {'1.data': PLACE})
        self.assertEqual(['1.data'], files.list_dir(self.path))
        files.open_data_file(self.path + '/1.data')
        self.assertEqual([], self.store.asked)
        files.list_dir(self.path)
        self.assertEqual(['hash'], self.store.asked)

    def test_a_file_that_was_moved_is_opened_where_it_is(self):
        files = OneObject(self.find, self.path, {'1.data': PLACE})
        self.store.files[HASH]['1.data'] = MOVED
        self.assertEqual(MOVED, files.open_data_file(self.path + '/1.data'))

    def test_a_file_of_another_object_is_asked_for(self):
        files = OneObject(self.find, self.path, {'2.ts': MOVED})
        self.assertEqual(PLACE, files.open_data_file(
            '%s/%s/2.ts' % (SUFFIX, OTHER)))


class TestKnownMetadata(KnownFilesTest):

    def known(self, metadata, asked=b''):
        """:returns: what knows a file whose metadata are listed so"""
        path = '%s/%s' % (SUFFIX, HASH)
        found = KnownMetadata(self.find, path, {
            '1.data': replace(PLACE, metadata=metadata)})
        found.list_dir(path)
        self.store.files[HASH]['1.data'] = replace(PLACE, metadata=asked)
        return found, path + '/1.data'

    def test_what_is_listed_is_told(self):
        files, path = self.known(b'{"a":"b"}')
        self.assertEqual((1, {'a': 'b'}), files.open_data_file(path))
        self.assertEqual({'a': 'b'}, files.read_file_metadata(path))
        self.assertEqual([], self.store.asked)

    def test_what_was_withheld_is_asked_for_once(self):
        files, path = self.known(WITHHELD, b'{"a":"b"}')
        self.assertEqual({'a': 'b'}, files.open_data_file(path).metadata)
        self.assertEqual({'a': 'b'}, files.read_file_metadata(path))
        self.assertEqual(['hash'], self.store.asked)

    def test_what_the_index_does_not_have_is_read(self):
        for metadata in (b'', WITHHELD, b'no JSON'):
            files, path = self.known(metadata)
            self.assertIs(self.store.files[HASH]['1.data'].volume,
                          files.open_data_file(path).volume)
