# SPDX-License-Identifier: Apache-2.0
"""What is installed, how it is found, and the adaptors without a network."""

import asyncio
import inspect
from importlib.metadata import EntryPoint
from unittest import mock

from cosbench import adaptors
from cosbench.adaptors import base
from cosbench.adaptors.base import OperationError, clock
from cosbench.adaptors.content import Body, Checker
from cosbench.adaptors.http1 import parse_url
from cosbench.errors import ConfigError
from cosbench.workload import inheritance
from tests.unit.cosbench.adaptors.servers import (
    LoopsCase,
    answer,
    listening,
    made,
    read_head,
)


class Theirs(base.Storage):
    """Somebody else's adaptor."""


class TestInstalled(LoopsCase):

    def with_theirs(self, name, value):
        points = {'cosbench.storage': [EntryPoint(
            name, value, 'cosbench.storage')]}
        return mock.patch.object(
            adaptors, 'entry_points',
            lambda group: points.get(group, []))

    def test_what_a_workload_may_name_without_others_is_what_is_built_in(
            self):
        with mock.patch.object(adaptors, 'entry_points', lambda group: []):
            self.assertEqual(inheritance.Adaptors(), adaptors.installed())

    def test_the_built_in_ones_follow_the_interface(self):
        for kind, parent in (('auth', base.Auth), ('storage', base.Storage)):
            for name in adaptors.BUILT_IN[kind]:
                found = adaptors.load(kind, name)
                self.assertTrue(issubclass(found, parent), name)
                for method, its in inspect.getmembers(
                        parent, inspect.isfunction):
                    if not method.startswith('_'):
                        self.assertIn(
                            str(inspect.signature(getattr(found, method))),
                            (str(inspect.signature(its)),
                             '(self, *args, **options)'))

    def test_an_entry_point_is_installed_and_loaded(self):
        with self.with_theirs('Theirs', __name__ + ':Theirs'):
            self.assertIn('theirs', adaptors.installed().storage)
            self.assertNotIn('theirs', adaptors.installed().auth)
            self.assertIs(Theirs, adaptors.load('storage', 'theirs'))

    def test_an_entry_point_does_not_replace_a_built_in_one(self):
        with self.with_theirs('swift', __name__ + ':Theirs'):
            self.assertIsNot(Theirs, adaptors.load('storage', 'swift'))

    def test_one_that_cannot_be_imported_is_named(self):
        for value in ('no.such.module:X', __name__ + ':Nothing'):
            with self.with_theirs('theirs', value):
                with self.assertRaisesRegex(
                        ConfigError, 'storage type theirs: .* imported'):
                    adaptors.load('storage', 'theirs')

    def test_one_that_is_not_installed_is_refused(self):
        with self.assertRaisesRegex(
                ConfigError, "storage type='ampli': must be one of none,"):
            adaptors.load('storage', 'ampli')


class TestWithoutANetwork(LoopsCase):

    OPERATIONS = (
        lambda s: s.create_container('c'), lambda s: s.delete_container('c'),
        lambda s: s.put('c', 'o', Body(7)), lambda s: s.get('c', 'o'),
        lambda s: s.delete('c', 'o'), lambda s: s.list(),
        lambda s: s.list('c', 'o'))

    async def test_none_moves_nothing(self):
        found = made('none', '')
        await found.open()
        for operate in self.OPERATIONS:
            before = clock()
            transfer = await operate(found)
            self.assertTrue(before <= transfer.first_byte <= clock())
            self.assertEqual(0, transfer.size)
        await found.close()

    async def test_mock_waits_and_has_objects_of_its_size(self):
        found = made('mock', 'size=5000;delay=20', 'mock', 'delay=30')
        before = clock()
        await found.open()
        self.assertGreaterEqual(clock() - before, 0.029)
        before = clock()
        got, checker = bytearray(), Checker()
        transfer = await found.get('c', 'o', got.extend)
        self.assertGreaterEqual(transfer.first_byte - before, 0.019)
        self.assertEqual((5000, 5000), (transfer.size, len(got)))
        checker.feed(bytes(got))
        self.assertTrue(checker.good)
        self.assertEqual(7, (await found.put('c', 'o', Body(7))).size)
        await found.close()

    async def test_mock_fails_as_often_as_it_is_told_and_alike_each_time(
            self):
        runs = []
        for _ in range(2):
            found = made('mock', 'delay=0;errors=0.25;seed=1')
            results = await asyncio.gather(
                *(found.get('c', 'o') for _ in range(400)),
                return_exceptions=True)
            runs.append([isinstance(each, OperationError)
                         for each in results])
            self.assertEqual({'mock'}, {
                each.kind for each in results
                if isinstance(each, Exception)})
        self.assertEqual(*runs)
        self.assertTrue(60 < sum(runs[0]) < 140)

    def test_a_wrong_config_names_the_key(self):
        for text, words in (('size=-1', 'size='), ('delay=x', 'delay='),
                            ('errors=1.1', 'errors=')):
            with self.assertRaisesRegex(ConfigError, words):
                made('mock', text)


class TestResent(LoopsCase):

    async def test_a_storage_counts_what_its_connections_sent_again(self):
        async def serve(reader, writer):
            # Closes without a word what is used for a second time.
            await read_head(reader)
            writer.write(answer(200))
            await read_head(reader)
        async with listening(serve) as port:
            for kind, text in (
                    ('swift', 'storage_url=http://127.0.0.1:%d/v1/AUTH_a'),
                    ('s3', 'endpoint=http://127.0.0.1:%d;accesskey=a;'
                     'secretkey=s')):
                found = made(kind, text % port)
                await found.open()
                # All but the first meet a connection that closes.
                for number in range(4):
                    await found.get('c', 'o')
                    self.assertEqual(number, found.resent)
                await found.close()
                self.assertEqual(3, found.resent)
        self.assertEqual(0, made('none', '').resent)


class TestUrl(LoopsCase):

    def test_what_is_written_is_what_is_meant(self):
        for text, scheme, host, port, path in (
                ('http://h', 'http', 'h', 80, ''),
                ('https://h/', 'https', 'h', 443, ''),
                (' http://h:81/a/ ', 'http', 'h', 81, '/a'),
                ('http://[::1]:8/a b', 'http', '::1', 8, '/a%20b'),
                ('http://my_host/v1/AUTH_%41', 'http', 'my_host', 80,
                 '/v1/AUTH_%41'),
                ('http://bücher.example', 'http', 'xn--bcher-kva.example',
                 80, '')):
            with self.subTest(text):
                self.assertEqual((scheme, host, port, path),
                                 parse_url('url', text))

    def test_it_is_written_as_it_was(self):
        for text in ('http://h', 'https://h:1/a', 'http://[::1]:8/a'):
            self.assertEqual(text, str(parse_url('url', text)))

    def test_what_is_no_server_is_refused(self):
        for text in ('', 'h', '//h', 'ftp://h', 'http://', 'http:///a',
                     'http://h:x', 'http://h:0', 'http://h:99999',
                     'http://a b', 'http://a\x0eb', 'http://a\0b',
                     'http://h/\udce8', 'http://u:p@h', 'http://h?q',
                     'http://h#f', 'http://[h',
                     'http://' + 'a' * 70, '<storage url>'):
            with self.subTest(ascii(text)):
                with self.assertRaisesRegex(ConfigError, r'url=.*must be'):
                    parse_url('url', text)
