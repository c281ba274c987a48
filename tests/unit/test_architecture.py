# SPDX-License-Identifier: Apache-2.0
"""What may import what: pure cores, and packages that stay apart."""

import ast
import os
import unittest

import swift_lightsync

PACKAGE = os.path.dirname(swift_lightsync.__file__)
ROOT = os.path.dirname(PACKAGE)
CORE = ['swift_lightsync.sync.' + name for name in (
    'merkle', 'replica_ring', 'failure_table', 'sync_round', 'sync_message',
    'partition_set', 'comparison', 'known_sets', 'place')] + [
    'swift_lightsync.proar.' + name for name in (
        'role_ring', 'oplog', 'follower')] + [
    'swift_lightsync.versioning.' + name for name in (
        'stamp', 'version', 'clock', 'keys', 'rowdata', 'pointer',
        'signature', 'shipping', 'progress')] + [
    'swift_losf.format.' + name for name in (
        'layout', 'header', 'record', 'metadata', 'keys', 'name_code',
        'ranges')]
#: What computes, and does nothing else.
PURE = {'bisect', 'collections', 'contextlib', 'dataclasses', 'enum',
        'functools', 'google_crc32c', 'hashlib', 'heapq', 'hmac', 'itertools',
        'json', 'math', 'operator', 're', 'struct', 'typing', 'urllib',
        'zlib'}


def path_of(module):
    return os.path.join(ROOT, *module.split('.')) + '.py'


def imports(source, package):
    """
    The absolute names of the modules that a source text imports.

    :param source: the text
    :param package: the package it is in, for relative imports
    """
    for item in ast.walk(ast.parse(source)):
        if isinstance(item, ast.Import):
            for alias in item.names:
                yield alias.name
        elif isinstance(item, ast.ImportFrom):
            base = item.module or ''
            if item.level:
                above = package.split('.')[:-(item.level - 1) or None]
                base = '.'.join(above + ([base] if base else []))
            for alias in item.names:
                yield '%s.%s' % (base, alias.name)


def imports_of(path):
    package = os.path.relpath(os.path.dirname(path), ROOT)
    with open(path, encoding='utf8') as source:
        return set(imports(source.read(), package.replace(os.sep, '.')))


def sources(package):
    for directory, _, names in os.walk(os.path.join(ROOT, package)):
        for name in names:
            if name.endswith('.py'):
                yield os.path.join(directory, name)


class TestTheWalker(unittest.TestCase):

    def test_it_sees_every_form_of_import(self):
        text = ('import os.path\nfrom socket import socket as s\n'
                'from . import x\nfrom .y import z\nfrom ..u import v\n'
                'def f():\n    import eventlet\n')
        self.assertEqual(
            {'os.path', 'socket.socket', 'p.q.x', 'p.q.y.z', 'p.u.v',
             'eventlet'}, set(imports(text, 'p.q')))

    def test_it_sees_the_product(self):
        paths = list(sources('swift_lightsync'))
        self.assertIn(path_of(CORE[0]), paths)
        self.assertIn('swift.obj.replicator', imports_of(
            path_of('swift_lightsync.sync.replicator')))


class TestArchitecture(unittest.TestCase):

    def test_the_core_imports_what_computes_and_the_core_only(self):
        for module in CORE:
            for name in imports_of(path_of(module)):
                pure = name.split('.')[0] in PURE or \
                    name.startswith('os.path.')
                core = any((name + '.').startswith(other + '.')
                           for other in CORE)
                self.assertTrue(pure or core, '%s imports %s'
                                % (module, name))

    def test_the_core_calls_nothing_that_reads_or_writes(self):
        for module in CORE:
            with open(path_of(module), encoding='utf8') as source:
                called = {item.func.id for item in ast.walk(
                    ast.parse(source.read()))
                    if isinstance(item, ast.Call)
                    and isinstance(item.func, ast.Name)}
            self.assertFalse(called & {'open', 'print', 'input', 'exec',
                                       'eval', '__import__'}, module)

    def test_the_two_packages_stay_apart(self):
        for package, other in (('swift_lightsync', 'swift_losf'),
                               ('swift_losf', 'swift_lightsync')):
            for path in sources(package):
                for name in imports_of(path):
                    self.assertNotEqual(other, name.split('.')[0], path)

    def test_eventlet_comes_by_way_of_swift(self):
        for path in sources('swift_lightsync'):
            for name in imports_of(path):
                self.assertNotIn(name.split('.')[0],
                                 ('eventlet', 'greenlet'), path)


if __name__ == '__main__':
    unittest.main()
