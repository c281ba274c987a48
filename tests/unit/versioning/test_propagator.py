# SPDX-License-Identifier: Apache-2.0
"""What one site has, all get, once."""

from unittest import mock

from swift.proxy.controllers.base import get_container_info

from swift_lightsync.versioning.core.row_data import Kind, hidden_container
from swift_lightsync.versioning.core.shipping import Group, Offered
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.rows import Rows
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SitesTestCase


class WhatAllModesDo:

    def test_a_version_gets_to_all_sites_with_data_and_metadata(self):
        self.rome.make_container()
        version = self.rome.put('o', b'hello', Color='blue')
        self.rome.propagate()
        self.assert_same('o')
        self.assertEqual(str(version.id), self.oslo.latest('o'))
        self.assertEqual({str(version.id): b'hello'}, self.oslo.bodies('o'))
        (_, headers, _, _), = self.oslo.data.values()
        self.assertEqual('blue', headers['x-object-meta-color'])

    def test_what_was_shipped_and_written_again_is_purged_everywhere(self):
        for site in self.sites:
            site.make_container()
        self.rome.skew = -10
        self.paris.put('o', b'ahead')
        self.paris.propagate()
        write, written = Rows.write, []

        def shipped_at_once(rows, request):
            told = write(rows, request)
            written.append(request)
            if len(written) == 1:
                self.rome.propagate()
            return told
        with mock.patch.object(Rows, 'write', shipped_at_once):
            self.rome.put('o', b'behind')
        self.assertEqual([2, 2], [len(site.history('o'))
                                  for site in (self.rome, self.oslo)])
        self.settle()
        self.assert_same('o')
        self.assertEqual(2, len(self.oslo.history('o')))

    def write_everywhere(self):
        """Concurrent updates of all kinds, at all sites."""
        for site in self.sites:
            site.make_container()
        for number, site in enumerate(self.sites):
            site.put('all', b'1 of %d' % number)
            site.put('all', b'2 of %d' % number)
            site.put('one %d' % number, b'x')
            site.put('ö/%d' % number, b'')
            site.put('raced', b'%d' % number)
        self.rome.delete('raced')

    def test_concurrent_updates_end_with_one_history_and_winner(self):
        self.write_everywhere()
        self.settle()
        self.assert_same('all', 'raced', *(
            name % number for name in ('one %d', 'ö/%d')
            for number in range(3)))
        self.assertEqual(6, len(self.oslo.history('all')))
        self.assertEqual(4, len(self.oslo.history('raced')))
        self.assertEqual({'rome', 'paris', 'oslo'}, {
            site for _, site, *_ in self.paris.history('all')})

    def test_a_purge_gets_to_all_sites_and_takes_the_data(self):
        self.rome.make_container()
        first = self.rome.put('o', b'first')
        purged = self.rome.put('o', b'purged')
        self.rome.propagate()
        self.paris.purge('o', purged.id)
        self.settle()
        self.assert_same('o')
        self.assertEqual(str(first.id), self.oslo.latest('o'))
        for site in self.sites:
            self.assertEqual([b'first'], [
                body for _, _, body, _ in site.data.values()])

    def test_an_object_of_before_is_shipped_too(self):
        self.rome.make_container()
        self.rome.put_plain('old', b'old body', 1000000000)
        self.rome.put_plain('then new', b'old', 1000000000)
        self.rome.put('then new', b'new')
        self.settle()
        self.assert_same('old', 'then new')
        self.assertEqual([b'old body'],
                         list(self.oslo.bodies('old').values()))
        self.assertEqual([b'new', b'old'],
                         list(self.oslo.bodies('then new').values()))

    def test_metadata_that_were_changed_later_are_shipped(self):
        self.rome.make_container()
        version = self.rome.put('o', b'x', Color='blue')
        self.rome.propagate()
        strategy = self.rome.strategy
        entry = strategy.get('o', version.id)
        changed = Stamp(version.id.ticks + 5)
        self.rome.post_data((hidden_container(CONTAINER), entry.data_name),
                            changed, {'X-Object-Meta-Color': 'red'})
        strategy.amend(entry, 'image/png', changed)
        self.rome.propagate()
        self.assert_same('o')
        self.assertEqual('image/png', self.oslo.history('o')[0][-1])
        for site in (self.paris, self.oslo):
            (_, headers, _, when), = site.data.values()
            self.assertEqual(('red', changed),
                             (headers['x-object-meta-color'], when))
        self.assertEqual([1, 1], [len(site.puts) for site in self.sites[1:]])


class TestWriteRepair(WhatAllModesDo, SitesTestCase):
    """What it does by default."""


class TestReadRepair(WhatAllModesDo, SitesTestCase):

    modes = ('read-repair',) * 3


class TestMixedModes(WhatAllModesDo, SitesTestCase):

    modes = ('read-repair', 'write-repair', 'read-repair')


class TestPropagation(SitesTestCase):

    def test_what_comes_after_what_was_shipped_supersedes_it(self):
        self.rome.make_container()
        self.rome.put('o', b'rome')
        self.rome.propagate()
        version = self.oslo.put('o', b'oslo')
        self.oslo.propagate()
        self.assert_same('o')
        self.assertEqual(str(version.id), self.rome.latest('o'))

    def test_a_purged_version_is_not_shipped_again(self):
        self.rome.make_container()
        version = self.rome.put('o', b'x')
        self.oslo.make_container()
        self.rome.propagate()
        self.rome.purge('o', version.id)
        self.rome.propagate()
        # As a stale replica would: it still has the version's row.
        before = list(self.oslo.puts)
        shipped = self.paris_offers(version)
        self.assertEqual([], shipped)
        self.assertEqual(before, self.oslo.puts)

    def paris_offers(self, version):
        client = self.paris.propagator().peer_tasks[1].client
        self.assertEqual('oslo', client.peer.name)
        return list(client.offer([Group(ACCOUNT, CONTAINER, (Offered(
            'o', version.id, version.site, Kind.DATA),))]).lacking)

    def test_what_a_site_has_is_not_shipped_to_it(self):
        self.rome.make_container()
        self.rome.put('o', b'x')
        self.rome.propagate()
        self.paris.propagate()
        self.oslo.propagate()
        self.assertEqual([0, 1, 1], [len(site.puts) for site in self.sites])

    def test_each_version_is_shipped_by_one_replica(self):
        self.rome.make_container()
        for number in range(6):
            self.rome.put('o%d' % number, b'x')
        propagator = self.rome.propagate(handover_delay='1000')
        self.assertEqual([6, 6], [task.shipped
                                  for task in propagator.peer_tasks])
        self.assertEqual([6, 6], [len(site.puts)
                                  for site in self.sites[1:]])

    def test_what_one_replica_has_not_shipped_others_do(self):
        self.rome.make_container()
        for number in range(9):
            self.rome.put('o%d' % number, b'x')
        propagator = self.rome.propagator(handover_delay='1000')
        propagator.databases.scan()
        # Two of three replicas are gone.
        for directory, database in list(propagator.databases):
            if database.hidden and database.device != 'sdb':
                del propagator.databases._looked[directory]
        runner = propagator.runners[0]
        shipped = []
        for later in (0, 1000, 1000):
            now = runner._now() + later
            runner._now = lambda: now
            runner.run_all()
            shipped.append(len(self.paris.puts))
        self.assertEqual(sorted(shipped), shipped)
        self.assertLess(shipped[0], 9)
        self.assertEqual(9, shipped[-1])
        self.assertEqual(0, runner.lag().rows)

    def test_data_is_read_without_a_question_about_its_container(self):
        self.rome.make_container()
        self.rome.put('o', b'x')
        read, infos = self.rome.get_object, []

        def looked(req, *key):
            infos.append(get_container_info(req.environ, None))
            return read(req, *key)
        with mock.patch.object(self.rome, 'get_object', looked):
            self.rome.propagate()
        self.assertTrue(infos)
        self.assertEqual({(200, '0')}, {
            (info['status'], str(info['storage_policy'])) for info in infos})

    def test_large_data_arrives_whole(self):
        self.rome.make_container()
        body = bytes(range(256)) * 5000
        self.rome.put('o', body)
        self.rome.propagate()
        self.assertEqual([body], list(self.oslo.bodies('o').values()))
