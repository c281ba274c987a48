# SPDX-License-Identifier: Apache-2.0
"""A test finds objects where files would be, and no one else does."""

import errno
import io
import os
import re
import shutil
import tempfile
import unittest
from types import ModuleType, SimpleNamespace
from unittest import mock

import xattr
from swift.common import utils
from swift.obj import diskfile

from tests.upstream import paths

HASH = 'sda/objects/1/abc/' + 'd41d8cd98f00b204e9800998ecf8427e'


def absent(path):
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class DictContent:
    """The content of a dictionary.

    :param files: path to (data, metadata)
    """

    def __init__(self, files):
        self.files = files

    def owns(self, path):
        return bool(re.search('/objects/[0-9]+/[0-9a-f]{3}/[0-9a-f]{32}',
                              path))

    def hides(self, path):
        return os.path.basename(path) == 'volumes'

    def exists(self, path):
        return any((each + '/').startswith(path + '/') for each in self.files)

    def listdir(self, path):
        if path in self.files:
            raise NotADirectoryError(errno.ENOTDIR, 'Not a directory', path)
        if not self.exists(path):
            raise absent(path)
        return list({each[len(path) + 1:].partition('/')[0]
                     for each in self.files if each.startswith(path + '/')})

    def _file(self, path):
        if path not in self.files:
            raise absent(path)
        return self.files[path]

    def read(self, path):
        return self._file(path)[0]

    def getxattr(self, path):
        return self._file(path)[1]

    def write(self, path, data, metadata):
        self.files[path] = data, metadata

    def unlink(self, path):
        self._file(path)
        del self.files[path]

    def damage(self, path):
        self.files[path] = self._file(path)[0], 'damaged'

    def appear(self, path):
        self.files[path] = b'', {}


class TestPaths(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.datadir = os.path.join(self.root, HASH)
        self.partition = os.path.join(self.root, 'sda/objects/1')
        self.data = self.datadir + '/1.data'
        self.new = self.datadir + '/3.data'
        self.content = DictContent({
            self.data: (b'VERIFY\n', {'name': '/a/c/o'}),
            self.datadir + '/2.meta': (b'', {})})
        self.files = self.content.files
        os.makedirs(self.partition)
        open(self.partition + '/hashes.pkl', 'w').close()
        for module, names in paths.ROUTED:
            for name in names:
                # Restores what is there now.
                patch = mock.patch.object(module, name,
                                          getattr(module, name))
                patch.start()
                self.addCleanup(patch.stop)
        paths.install(self.content)

    def as_module(self, name, expression, **names):
        """Return the value of an expression in a module of that name."""
        module = ModuleType(name)
        vars(module).update(os=os, diskfile=diskfile, utils=utils,
                            shutil=shutil, xattr=xattr, **vars(self), **names)
        return eval(expression, vars(module))

    def by_test(self, expression, **names):
        return self.as_module('test.unit.obj.test_x', expression, **names)

    def by_swift(self, expression):
        return self.as_module('swift.obj.x', expression)

    def assert_by_test(self, expected, expression, **names):
        self.assertEqual(expected, self.by_test(expression, **names))

    def assert_absent(self, by, expression):
        self.assertRaises(FileNotFoundError, by, expression)

    def test_a_test_that_brings_a_device_back_waits_for_its_content(self):
        device = self.root + '/sda'
        rename = "utils.renamer(root + '/sda', root + '/sda')"
        self.by_swift(rename)
        self.assertNotIn(device, self.files)
        self.by_test(rename)
        self.assertIn(device, self.files)

    def test_a_test_lists_a_hash_directory(self):
        self.assert_by_test(['1.data', '2.meta'], 'os.listdir(datadir)')

    def test_a_partition_has_real_names_too(self):
        self.assert_by_test(['abc', 'hashes.pkl'], 'os.listdir(partition)')

    def test_a_test_walks_over_both(self):
        os.makedirs(self.partition + '/abc/real')
        expression = 'list(os.walk(partition))'
        self.assert_by_test([
            (self.partition, ['abc'], ['hashes.pkl']),
            (self.partition + '/abc',
             [os.path.basename(self.datadir), 'real'], []),
            (self.datadir, [], ['1.data', '2.meta']),
            (self.partition + '/abc/real', [], [])], expression)
        self.assertEqual([self.partition, self.partition + '/abc',
                          self.partition + '/abc/real'],
                         [path for path, _, _ in self.by_swift(expression)])

    def test_a_walk_goes_only_where_the_test_wants_it_to(self):
        walk = self.by_test('os.walk(partition)')
        next(walk)[1].clear()
        self.assertEqual([], list(walk))
        self.assert_by_test([], 'list(os.walk(root + "/no"))')

    def test_a_test_does_not_see_where_the_content_lies(self):
        os.mkdir(self.root + '/sda/volumes')
        self.assert_by_test(['objects'], 'os.listdir(root + "/sda")')
        self.assert_by_test(['objects'], 'next(os.walk(root + "/sda"))[1]')
        self.assertEqual({'objects', 'volumes'},
                         set(self.by_swift('os.listdir(root + "/sda")')))

    def test_swift_lists_files_only(self):
        self.assertEqual(['hashes.pkl'],
                         self.by_swift('os.listdir(partition)'))
        self.assert_absent(self.by_swift, 'os.listdir(datadir)')

    def test_the_kinds_of_paths(self):
        for kind, expected in (('exists', (True, True, False)),
                               ('isdir', (True, False, False)),
                               ('isfile', (False, True, False))):
            self.assert_by_test(
                expected, 'tuple(map(os.path.%s, paths))' % kind,
                paths=(self.datadir, self.data, self.new))
            self.assertFalse(self.by_swift('os.path.%s(data)' % kind))

    def test_real_paths_are_as_they_were(self):
        for expected, expression in (
                (True, 'os.path.isdir(root)'),
                (True, 'os.path.isfile(partition + "/hashes.pkl")'),
                (5, 'open(root + "/new", "w").write("12345")'),
                (None, 'os.rename(root + "/new", root + "/newer")'),
                (None, 'os.unlink(root + "/newer")'),
                (['sda'], 'os.listdir(root)')):
            self.assert_by_test(expected, expression)

    def test_a_test_reads_data_and_changes_nothing(self):
        with mock.patch.object(self.content, 'write') as write:
            for mode, text in (('r', 'VERIFY\n'), ('rb', b'VERIFY\n')):
                with self.by_test('open(data, mode)', mode=mode) as file:
                    self.assertEqual(text, file.read())
        write.assert_not_called()
        self.assert_absent(self.by_swift, 'open(data)')

    def test_a_test_reads_metadata_of_a_path_and_of_a_file(self):
        for file in ('data', 'open(data)', 'open(data, "rb")'):
            self.assert_by_test({'name': '/a/c/o'},
                                'diskfile.read_metadata(%s)' % file)

    def test_what_a_test_unlinks_is_gone(self):
        self.by_test('os.unlink(data)')
        self.assert_by_test(['2.meta'], 'os.listdir(datadir)')
        self.assert_absent(self.by_test, 'os.unlink(data)')

    def test_a_test_removes_trees(self):
        self.by_test('shutil.rmtree(datadir)')
        self.assertEqual({}, self.files)
        self.assertTrue(os.path.isdir(self.partition))
        self.files[self.data] = b'', {}
        self.by_test('shutil.rmtree(partition)')
        self.assertEqual({}, self.files)
        self.assertFalse(os.path.exists(self.partition))
        self.by_test('shutil.rmtree(partition, ignore_errors=1)')
        self.assert_absent(self.by_test, 'shutil.rmtree(partition)')

    def test_a_tree_in_which_a_server_makes_a_file_is_removed(self):
        def remove(path):
            if not os.listdir(path):
                return os.rmdir(path)
            os.unlink(path + '/hashes.pkl')
            raise OSError(errno.ENOTEMPTY, 'Directory not empty', path)
        self.files.clear()
        paths.PathShim(self.content).rmtree(remove, self.partition)
        self.assertFalse(os.path.exists(self.partition))

    def test_a_test_spoils_metadata(self):
        spoil = 'xattr.setxattr(%s, "user.a", xattr.getxattr(%s, "user.a"))'
        self.by_test(spoil % ('data', 'data'))
        self.assertEqual((b'VERIFY\n', 'damaged'), self.files[self.data])
        with self.assertRaises(OSError):
            self.by_test(spoil % ('partition', 'partition'))

    def test_what_says_where_it_is_kept_is_taken_for_the_file(self):
        kept = SimpleNamespace(content_path=self.data)
        self.assert_by_test({'name': '/a/c/o'},
                            'diskfile.read_metadata(kept)', kept=kept)
        self.by_test('diskfile.write_metadata(kept, {"a": "b"})', kept=kept)
        self.by_test('os.write(kept, b"more")', kept=kept)
        self.assertEqual((b'VERIFY\nmore', {'a': 'b'}),
                         self.files[self.data])

    def test_a_file_that_a_test_makes_is_kept_when_it_is_closed(self):
        for mode, text in (('w', 'abc'), ('wb', b'abc'), ('w+', 'abc')):
            with self.by_test('open(new, mode)', mode=mode) as file:
                file.write(text)
                diskfile.write_metadata(file, {'name': 'n'})
            self.assertEqual((b'abc', {'name': 'n'}),
                             self.files.pop(self.new))
        self.assertFalse(os.path.exists(self.new))
        self.by_test('open(new, "w").close()')
        self.assertEqual((b'', {}), self.files[self.new])

    def test_a_file_that_is_never_closed_is_kept_with_its_metadata(self):
        file = self.by_test('open(new, "w")')
        file.write('abc')
        file.flush()
        self.by_test('diskfile.write_metadata(file, {"a": "b"})', file=file)
        self.assertEqual((b'abc', {'a': 'b'}), self.files[self.new])
        file.close()

    def test_a_part_of_a_file_can_be_changed(self):
        with self.by_test('open(data, "r+")') as file:
            file.write('FALSI')
        self.assertEqual((b'FALSIY\n', {'name': '/a/c/o'}),
                         self.files[self.data])

    def test_metadata_can_be_replaced(self):
        self.by_test('diskfile.write_metadata(data, {"name": "other"})')
        self.assertEqual((b'VERIFY\n', {'name': 'other'}),
                         self.files[self.data])

    def test_a_file_can_be_moved_within_the_content(self):
        kept = self.files[self.data]
        self.by_test('os.rename(data, new)')
        self.assertNotIn(self.data, self.files)
        self.assertEqual(kept, self.files[self.new])

    def test_a_test_that_moves_it_elsewhere_or_appends_is_told(self):
        for expression in ('os.rename(data, root + "/elsewhere")',
                           'open(data, "a")', 'open(data, "a+b")'):
            with self.assertRaisesRegex(io.UnsupportedOperation,
                                        '1.data.*a test cannot'):
                self.by_test(expression)

    def test_of_a_hash_directory_only_the_partition_is_made(self):
        partition = self.root + '/sda/objects/2'
        for make in ('os.makedirs', 'os.mkdir', 'utils.mkdirs'):
            self.by_test(make + '(datadir.replace("/1/", "/2/"))')
            self.assertEqual([], os.listdir(partition))
            os.rmdir(partition)
        self.by_test('os.makedirs(root + "/a/b")')
        self.by_test('os.mkdir(root + "/a/c")')
        self.assertEqual({'b', 'c'}, set(os.listdir(self.root + '/a')))

    def test_mocks_of_a_test_take_hold_and_are_undone(self):
        routed = os.listdir
        self.assertEqual('listdir', routed.__name__)
        with mock.patch('os.listdir', return_value=['mocked']):
            for by in (self.by_test, self.by_swift):
                self.assertEqual(['mocked'], by('os.listdir(datadir)'))
        self.assertIs(routed, os.listdir)

    def test_calls_without_a_path_pass(self):
        self.assert_by_test(os.listdir(os.getcwd()), 'os.listdir()')
        with open(self.partition + '/hashes.pkl') as real:
            self.assertEqual('', open(os.dup(real.fileno())).read())
