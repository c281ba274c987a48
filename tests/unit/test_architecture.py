# SPDX-License-Identifier: Apache-2.0
"""What may import what: rooms without cycles, cores that only compute.

A room is a package: its own modules, without those of the packages below it.
"""

import ast
import functools
import os
import sys
import unittest

import swift_lightsync

ROOT = os.path.dirname(os.path.dirname(swift_lightsync.__file__))
#: The import name of each package that is installed, and where it lies.
PRODUCT = {'swift_lightsync': 'swift_lightsync',
           'swift_losf': 'swift_losf',
           'cosbench': os.path.join('tools', 'cosbench')}
#: Rooms with these names compute, and do nothing else.
PURE_ROOMS = {'core', 'format', 'measure', 'wire', 'workload'}
#: What computes, of the standard library and of others.
PURE = {'array', 'base64', 'binascii', 'bisect', 'collections', 'contextlib',
        'dataclasses', 'difflib', 'enum', 'functools', 'google_crc32c',
        'hashlib', 'hdrh', 'heapq', 'hmac', 'html', 'itertools', 'json',
        'math', 'operator', 're', 'struct', 'types', 'typing', 'urllib',
        'zlib'}
#: What pure rooms may import beside each other: modules that only compute.
PURE_MODULES = {'cosbench.errors'} | {
    'swift_lightsync.common.' + name for name in (
        'address', 'backoff', 'cached', 'openmetrics', 'options',
        'record_codecs', 'record_limits', 'records', 'signing', 'text')}
#: What modules of common/ import beside the standard library: COSBench and
#: LOSF use the others where there is no Swift.
COMMON_ALSO = {'node_arguments': {'swift'}, 'nodes': {'swift'},
               'progress': {'rich'}, 'request_body': {'swift'},
               'rowless': {'swift'}}


@functools.cache
def modules():
    """Return the product's modules.

    :returns: a dict of import names to paths; a package has its own name
    """
    found = {}
    for package, place in PRODUCT.items():
        top = os.path.join(ROOT, place)
        for directory, _, names in os.walk(top):
            inner = os.path.relpath(directory, top)
            parts = [package] + ([] if inner == '.' else inner.split(os.sep))
            for name in names:
                if name == '__init__.py':
                    found['.'.join(parts)] = os.path.join(directory, name)
                elif name.endswith('.py'):
                    found['.'.join(parts + [name[:-3]])] = os.path.join(
                        directory, name)
    return found


def imports(source):
    """Yield the names that a source text imports.

    :param source: the text of a module, which imports by absolute names
    :returns: tuples (module, name in it or None)
    """
    for item in ast.walk(ast.parse(source)):
        if isinstance(item, ast.Import):
            for alias in item.names:
                yield alias.name, None
        elif isinstance(item, ast.ImportFrom):
            for alias in item.names:
                yield '.' * item.level + (item.module or ''), alias.name


@functools.cache
def imports_of(module):
    """Return what a module of the product imports.

    :param module: its import name
    :returns: a set of import names: of modules where the product has them
    """
    with open(modules()[module], encoding='utf8') as source:
        found = set(imports(source.read()))
    return {base if name is None or '%s.%s' % (base, name) not in modules()
            else '%s.%s' % (base, name) for base, name in found}


def room_of(module):
    """Return the package that a module of the product is in."""
    if os.path.basename(modules()[module]) == '__init__.py':
        return module
    return module.rpartition('.')[0]


def is_pure(module):
    """Return whether a module is in a room that only computes."""
    return bool(PURE_ROOMS & set(room_of(module).split('.')))


def cycles(arrows):
    """Return the nodes that lie on a cycle.

    :param arrows: a dict of nodes to the sets of nodes that they point to
    """
    def reached(start):
        seen, todo = set(), list(arrows.get(start, ()))
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(arrows.get(node, ()))
        return seen
    return {node for node in arrows if node in reached(node)}


class TestTheWalker(unittest.TestCase):

    def test_it_sees_every_form_of_import(self):
        text = ('import os.path\nfrom socket import socket as s\n'
                'from . import x\ndef f():\n    import eventlet\n')
        self.assertEqual(
            {('os.path', None), ('socket', 'socket'), ('.', 'x'),
             ('eventlet', None)}, set(imports(text)))

    def test_it_sees_the_product(self):
        self.assertIn('swift_lightsync.sync.core.merkle',
                      imports_of('swift_lightsync.sync.changed_file'))
        for module in ('swift_lightsync.sync.core.merkle',
                       'swift_losf.format.header', 'cosbench.measure.tally'):
            self.assertTrue(is_pure(module))

    def test_it_sees_a_cycle(self):
        self.assertEqual({'a', 'b', 'c'}, cycles(
            {'a': {'b'}, 'b': {'c'}, 'c': {'a', 'd'}, 'd': {'e'}}))


class TestArchitecture(unittest.TestCase):

    def test_no_room_imports_itself_by_way_of_others(self):
        arrows = {}
        for module in modules():
            if module.endswith('.__main__'):
                continue
            arrows.setdefault(room_of(module), set()).update(
                room_of(other) for other in imports_of(module)
                if other in modules() and room_of(other) != room_of(module))
        self.assertEqual(set(), cycles(arrows))

    def test_imports_are_absolute(self):
        for module in modules():
            for name in imports_of(module):
                self.assertFalse(name.startswith('.'), (module, name))

    def test_pure_rooms_import_what_computes(self):
        for module in filter(is_pure, modules()):
            for name in imports_of(module):
                if name in modules():
                    self.assertTrue(
                        is_pure(name) or name in PURE_MODULES,
                        '%s imports %s' % (module, name))
                else:
                    self.assertTrue(
                        name.split('.')[0] in PURE or name == 'os.path',
                        '%s imports %s' % (module, name))

    def test_pure_rooms_call_nothing_that_reads_or_writes(self):
        for module in filter(is_pure, modules()):
            with open(modules()[module], encoding='utf8') as source:
                called = {item.func.id for item in ast.walk(
                    ast.parse(source.read()))
                    if isinstance(item, ast.Call)
                    and isinstance(item.func, ast.Name)}
            self.assertFalse(called & {'open', 'print', 'input', 'exec',
                                       'eval', '__import__'}, module)

    def test_the_packages_share_nothing_but_what_is_common(self):
        for module in modules():
            for name in imports_of(module):
                package = name.split('.')[0]
                if package in PRODUCT and package != module.split('.')[0]:
                    self.assertEqual('swift_lightsync.common',
                                     room_of(name), '%s imports %s'
                                     % (module, name))

    def test_what_is_common_imports_little(self):
        for module in modules():
            if room_of(module) != 'swift_lightsync.common':
                continue
            for name in imports_of(module):
                package = name.split('.')[0]
                self.assertTrue(
                    package in sys.stdlib_module_names
                    or name in modules() and room_of(name) == room_of(module)
                    or package in COMMON_ALSO.get(
                        module.rpartition('.')[2], ()),
                    '%s imports %s' % (module, name))

    def test_cosbench_has_one_name(self):
        for module in modules():
            for name in imports_of(module):
                self.assertNotEqual('tools', name.split('.')[0], module)

    def test_no_kept_value_has_a_lock(self):
        """See swift_lightsync/common/cached.py."""
        for module, path in modules().items():
            if module.startswith('swift_'):
                with open(path, encoding='utf8') as source:
                    self.assertNotIn(('functools', 'cached_property'),
                                     set(imports(source.read())), module)

    def test_no_limit_of_time_ignores_a_cancellation(self):
        """See tools/cosbench/tasks.py."""
        for module, path in modules().items():
            with open(path, encoding='utf8') as source:
                self.assertNotRegex(
                    source.read(), r'asyncio\.(wait_for|timeout)', module)

    def test_eventlet_comes_by_way_of_swift(self):
        for module in modules():
            if module.startswith('swift_lightsync'):
                for name in imports_of(module):
                    self.assertNotIn(name.split('.')[0],
                                     ('eventlet', 'greenlet'), module)
