# SPDX-License-Identifier: Apache-2.0
"""Sites that do not agree, or do not have what was written, are an error."""

import io
import json
import unittest
from unittest import mock

from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from tools.demonstration.client import ObjectName
from tools.demonstration.errors import DemoError
from tools.demonstration.history import (
    History,
    SiteClient,
    Version,
    judge,
    print_histories,
)
from tools.demonstration.show import Show

WHERE = ObjectName('c', 'o')
NAMES = ('rome', 'paris')


def version(ticks, rank=0, latest=False):
    return Version(str(Stamp(ticks, offset_of(rank, 7))), latest, 1, 'e',
                   'text/plain')


OLD, NEW = version(1), version(2, rank=1, latest=True)
GOOD = History((NEW, OLD), ('new', 'old'), 'new')


class TestJudge(unittest.TestCase):
    def judge(self, history, winners=('new',)):
        judge({'rome': history, 'paris': history}, ['old', 'new'], winners)

    def assert_wrong(self, pattern, *args):
        with self.assertRaisesRegex(DemoError, pattern):
            self.judge(*args)

    def test_one_history_with_all_that_was_written_is_right(self):
        self.judge(GOOD)

    def test_sites_that_differ_are_an_error(self):
        other = History(GOOD.versions, GOOD.texts[::-1], 'old')
        with self.assertRaisesRegex(DemoError, 'rome, paris do not have'):
            judge({'rome': GOOD, 'paris': other}, ['old', 'new'],
                  ['old', 'new'])

    def test_a_lost_version_is_an_error(self):
        self.assert_wrong('paris: the versions hold new, not new, old',
                          History((NEW,), ('new',), 'new'))

    def test_no_version_at_all_is_an_error(self):
        self.assert_wrong('rome: the latest is none',
                          History((), (), None))

    def test_a_version_without_data_is_an_error(self):
        self.assert_wrong('hold None, new, not',
                          History(GOOD.versions, ('new', None), 'new'))

    def test_a_version_that_nobody_wrote_is_an_error(self):
        self.assert_wrong('hold new, old, old, not', History(
            (NEW, OLD, version(0)), ('new', 'old', 'old'), 'new'))

    def test_two_latest_are_an_error(self):
        self.assert_wrong('the latest is .* and ', History(
            (NEW, version(1, latest=True)), GOOD.texts, 'new'))

    def test_a_latest_that_is_not_the_greatest_id_is_an_error(self):
        self.assert_wrong('not the greatest id', History(
            (version(2), version(1, latest=True)), GOOD.texts, 'new'))

    def test_serving_another_version_than_the_latest_is_an_error(self):
        self.assert_wrong('GET answers old, the greatest id holds new',
                          History(GOOD.versions, GOOD.texts, 'old'),
                          ('new', 'old'))

    def test_a_latest_that_must_not_win_is_an_error(self):
        self.assert_wrong('allowed: old', GOOD, ('old',))


class TestPrinting(unittest.TestCase):
    def shown(self, **histories):
        show = Show(io.StringIO())
        print_histories(show, histories, NAMES)
        return [line.split() for line in show.stream.getvalue().splitlines()]

    def test_sites_with_the_same_history_share_a_table(self):
        lines = self.shown(rome=GOOD, paris=GOOD)
        self.assertEqual([
            [NEW.version_id, 'paris', 'new', '*'],
            [OLD.version_id, 'rome', 'old']], lines[-3:-1])
        self.assertEqual(['at', 'rome,', 'paris'], lines[1][:3])
        self.assertEqual(6, len(lines))

    def test_sites_that_differ_have_a_table_each(self):
        lines = self.shown(rome=GOOD, paris=History((OLD,), ('old',), None))
        self.assertEqual([['at', 'rome'], ['at', 'paris']],
                         [line[:2] for line in lines if 'at' in line])


class TestHistory(unittest.TestCase):
    def test_the_id_of_what_holds_a_text_is_found(self):
        self.assertEqual(OLD.version_id, GOOD.find('old'))


class TestSiteClient(unittest.TestCase):
    """Requests, and what is made of the answers to them."""

    def setUp(self):
        client = SiteClient.__new__(SiteClient)
        client.host, client.path, client.token = 'h', '/v1/a', 't'
        client._send = self.send
        self.client = client
        self.sent, self.answers = [], {}

    def send(self, method, path, body, headers):
        self.sent.append((method, path, body))
        status, data = self.answers.get((method, path), (404, b''))
        return mock.Mock(status=status, reason=''), data

    def row(self, each, name='o'):
        return {'name': name, 'version_id': each.version_id, 'bytes': 1,
                'is_latest': each.is_latest, 'hash': 'e',
                'content_type': 'text/plain', 'last_modified': 'then'}

    def test_a_history_is_what_the_site_lists_and_serves(self):
        rows = [self.row(NEW), self.row(OLD), self.row(OLD, 'other')]
        self.answers = {
            ('GET', '/v1/a/c?format=json&versions'):
                (200, json.dumps(rows).encode()),
            ('GET', '/v1/a/c/o?version-id=' + NEW.version_id): (200, b'new'),
            ('GET', '/v1/a/c/o?version-id=' + OLD.version_id): (200, b'old'),
            ('GET', '/v1/a/c/o'): (200, b'new')}
        self.assertEqual(GOOD, self.client.history(WHERE))

    def test_where_there_is_no_container_there_are_no_versions(self):
        self.assertEqual(History((), (), None), self.client.history(WHERE))

    def test_a_version_is_purged_and_restored_by_its_id(self):
        path = '/v1/a/c/o?version-id=x'
        self.answers = {('DELETE', path): (204, b''),
                        ('PUT', path): (201, b'')}
        self.client.purge(WHERE, 'x')
        self.client.restore(WHERE, 'x')
        self.assertEqual([('DELETE', path, None), ('PUT', path, b'')],
                         self.sent)

    def test_a_restore_that_makes_no_version_is_an_error(self):
        self.answers = {('PUT', '/v1/a/c/o?version-id=x'): (200, b'')}
        with self.assertRaisesRegex(DemoError, 'the answer is 200'):
            self.client.restore(WHERE, 'x')
