# SPDX-License-Identifier: Apache-2.0

"""What the pointer auditor looks at, and what it costs."""

import time
from itertools import product
from unittest import mock
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st
from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.keys import (
    WriteRepairKeys,
    hidden_container,
)
from swift_lightsync.versioning.core.row_data import (
    Pointer,
    Row,
    history_row,
    latest_row,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.rows.local_rows import LocalRows
from swift_lightsync.versioning.rows.row_client import RowClient
from swift_lightsync.versioning.rows.row_wire import LAST, Query
from swift_lightsync.versioning.rows.rows import Rows
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.sites_world import (
    ACCOUNT,
    CONTAINER,
    DEVICES,
    SitesTestCase,
)

NAMES = ('a', 'a\0', 'aa', 'ab', 'b', 'ö', 'z' + LAST, 'z' + LAST + 'a')
names = st.sampled_from(('', *NAMES, 'a/', '~'))
pages = st.builds(
    Query, st.booleans(), st.sampled_from(('', 'a', 'a\0', 'ab', 'z', '~')),
    names, names, st.one_of(st.none(), st.integers(1, 4)),
    reverse=st.booleans())
exact = st.builds(Query, st.booleans(), st.sampled_from((*NAMES, 'nobody')),
                  exact=st.just(True))


class AuditCase(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.make_container()

    def databases(self, propagator):
        """Return the ``Database`` of each replica of the hidden one."""
        propagator.databases.scan()
        return [each for _, each in propagator.databases if each.hidden]

    def settle(self):
        """Wait until all replicas have what a majority was enough for."""
        def rows(broker):
            return {(record['name'], record['created_at'])
                    for record in broker.get_items_since(-1, 10000)}
        for name in (CONTAINER, hidden_container(CONTAINER)):
            first, *others = self.rome.brokers(name)
            wait_for(lambda: all(rows(each) == rows(first)
                                 for each in others), 'all have all')

    def audit(self):
        """
        Each replica's server sees all rows, and later looks at them.

        :returns: (the RepairTask, the requests that they made)
        """
        propagator = self.rome.propagator(repair_delay='10')
        task = propagator.upkeep['repair']
        runner, = (each for each in propagator.runners if each.task is task)
        self.now = time.time()
        runner._now = lambda: self.now
        propagator.databases.scan()
        with mock.patch.object(RowClient, 'request', autospec=True,
                               side_effect=RowClient.request) as request:
            for _pass in range(20):
                runner.run_all()
                if _pass and not runner.lag().rows:
                    break
                self.now += 100
        for database in self.databases(propagator):
            versions = [row for row, _, item in database.items(-1) if item]
            self.assertGreaterEqual(database.point(task.name),
                                    max(versions, default=-1))
        # Others are of tests that are over.
        port = self.rome.ring.devs[0]['port']
        return task, [(call.args[1]['device'], call.args[3], call.args[4])
                      for call in request.call_args_list
                      if call.args[1]['port'] == port]


class TestLocalRows(AuditCase):

    def write(self):
        for hidden, name in ((False, CONTAINER),
                             (True, hidden_container(CONTAINER))):
            for number, row in enumerate(NAMES):
                for device in DEVICES:
                    stamp = str(Stamp((7 + number) * TICKS, 3))
                    self.rome._ask(device, 'PUT', name, '/' + quote(row), {
                        'X-Timestamp': stamp, 'X-Size': '1',
                        'X-Content-Type': 'text/plain',
                        'X-Etag': 'e; sv_stamp=' + stamp})

    def test_a_replica_gives_the_rows_that_a_majority_gives(self):
        self.write()
        propagator = self.rome.propagator()
        far = self.rome.strategy.rows
        near = [LocalRows(database, far, database.place[0])
                for database in self.databases(propagator)]
        self.assertEqual(3, len(near))

        @settings(max_examples=60, deadline=None)
        @given(st.one_of(pages, exact))
        def check(query):
            expected = [(row.name, row.stamp, row.size, row.content_type)
                        for row in far.read(query)[0]]
            for replica in near:
                self.assertEqual(expected, [
                    (row.name, row.stamp, row.size, row.content_type)
                    for row in replica.read(query)[0]])
        check()


class TestAuditor(AuditCase):

    def setUp(self):
        super().setUp()
        self.first = self.rome.put('o', b'1')
        self.second = self.rome.put('o', b'2')
        self.settle()

    def pointer_to(self, obj, version, newest):
        entry = self.rome.strategy.get(obj, version.id)
        return Pointer(Stamp(newest.id.ticks + TICKS), entry,
                       (entry.version,))

    def write_at(self, device, container, row):
        headers = {'X-Timestamp': str(row.stamp)}
        if not row.deleted:
            headers.update({
                'X-Size': str(row.size), 'X-Etag': row.etag,
                'X-Content-Type': row.content_type})
        response = self.rome._ask(
            device, 'DELETE' if row.deleted else 'PUT', container,
            '/' + row.name, headers)
        self.assertEqual(2, response.status_int // 100)

    def test_where_all_is_right_a_replica_makes_one_request_an_object(self):
        self.rome.put('p', b'')
        self.rome.delete('p')
        self.settle()
        task, requests = self.audit()
        path = '/%s/%s' % (ACCOUNT, CONTAINER)
        self.assertEqual(sorted((device, 'GET', path) for device in DEVICES
                                for _object in 'op'), sorted(requests))
        self.assertEqual(0, task.repaired)

    def test_what_one_replica_says_wrong_is_repaired(self):
        """Which replica has it, and of which container, is all the same."""
        for hidden, device, time_ in product(
                (False, True), DEVICES, range(3)):
            obj = 'o-%s-%s-%d' % (hidden, device, time_)
            first, second = (self.rome.put(obj, body) for body in (b'', b'2'))
            wrong = self.pointer_to(obj, first, second)
            with self.subTest(obj):
                if hidden:
                    self.write_at(device, hidden_container(CONTAINER),
                                  history_row(WriteRepairKeys.history(obj),
                                              wrong))
                else:
                    self.write_at(device, CONTAINER, latest_row(wrong, obj))
                task, _ = self.audit()
                self.assertGreater(task.repaired, 0)
                for _random_majority in range(5):
                    self.assertEqual(str(second.id), self.rome.latest(obj))
                    self.assertTrue(self.rome.strategy.is_right(obj))

    def test_what_a_writer_that_died_has_not_written_is_made_up_for(self):
        for missing in ('user_rows', 'hidden_rows'):
            with self.subTest(missing):
                write = Rows.write

                def half(rows, user_rows=(), hidden_rows=()):
                    hidden_rows = [
                        row for row in hidden_rows if missing == 'user_rows'
                        or not row.name.startswith(
                            WriteRepairKeys.all_histories)]
                    write(rows, () if missing == 'user_rows' else user_rows,
                          hidden_rows)
                with mock.patch.object(Rows, 'write', half):
                    version = self.rome.put('o', b'3')
                self.assertFalse(self.rome.strategy.is_right('o'))
                task, _ = self.audit()
                self.assertGreater(task.repaired, 0)
                self.assertTrue(self.rome.strategy.is_right('o'))
                self.assertEqual(str(version.id), self.rome.latest('o'))

    def test_one_audit_of_an_object_stands_for_all_its_versions(self):
        for number in range(5):
            self.rome.put('o', b'%d' % number)
        self.settle()
        _task, requests = self.audit()
        self.assertEqual(len(DEVICES), len(requests))

    def test_a_database_that_lacks_what_shards_have_is_not_relied_on(self):
        for broker in self.rome.brokers(hidden_container(CONTAINER)):
            own = ShardRange(broker.path, Timestamp.now(), '', '',
                             state=ShardRange.SHARDING, epoch=Timestamp.now())
            broker.merge_shard_ranges([own])
            self.assertTrue(broker.set_sharding_state())
        _task, requests = self.audit()
        path = '/%s/%s' % (ACCOUNT, hidden_container(CONTAINER))
        self.assertIn(path, [asked for _, _, asked in requests])

    def test_a_database_is_not_whole_from_when_its_container_is_sharded(self):
        """Not even one that was followed before."""
        propagator = self.rome.propagator()
        database = self.databases(propagator)[0]
        self.assertTrue(database.is_whole)
        for broker in self.rome.brokers(hidden_container(CONTAINER)):
            broker.merge_shard_ranges([ShardRange(
                broker.path, Timestamp.now(), '', '',
                state=ShardRange.SHARDING, epoch=Timestamp.now())])
            self.assertTrue(broker.set_sharding_state())
        propagator.databases.scan()
        self.assertFalse(database.is_whole)

    def test_a_row_that_cannot_be_read_holds_up_no_other(self):
        """An old one, of one replica: where others are read it is not seen."""
        broker = self.rome.brokers(hidden_container(CONTAINER))[0]
        with broker.get() as connection:
            connection.execute('DELETE FROM object WHERE name = ?',
                               (WriteRepairKeys.history('o'),))
            connection.commit()
        self.write_at('sda', hidden_container(CONTAINER), Row(
            WriteRepairKeys.history('o'), Stamp(TICKS), 0, 'text/plain', 'e'))
        self.audit()

    def test_a_replica_that_does_not_answer_is_made_up_for(self):
        self.write_at('sda', CONTAINER, latest_row(
            self.pointer_to('o', self.first, self.second), 'o'))
        ask = RowClient.request

        def request(client, node, part, method, path, *rest):
            if node['device'] == 'sda':
                node = dict(node, port=1)
            return ask(client, node, part, method, path, *rest)
        with mock.patch.object(RowClient, 'request', request):
            propagator = self.rome.propagate()
        for database in self.databases(propagator):
            self.assertGreater(database.point('.repair'), 0)
