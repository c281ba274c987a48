# SPDX-License-Identifier: Apache-2.0
"""recon: what passes over real object-servers leave in lightsync.recon."""

import json
import multiprocessing
import os
import time
from collections import Counter
from dataclasses import fields, replace
from types import SimpleNamespace
from unittest import mock

from swift_lightsync.sync import pass_recon
from swift_lightsync.sync.core.conversation import Told
from swift_lightsync.sync.core.engine.charging import Tally
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.pass_recon import KEEP, PassRecorder
from swift_lightsync.sync.recon_records import PairRecord, read
from tests.unit.sync.batches import PARTS, BatchTestCase
from tests.unit.sync.fixtures import (
    CapturingLogger,
    SwiftTestCase,
    node,
    ring_of,
)


class PassTestCase(BatchTestCase):

    def setUp(self):
        super().setUp()
        self.file = self.recon_file(0)
        self.daemon = self.daemons[0]
        self.fill(policies=[self.policy])

    def recon_file(self, number):
        return os.path.join(self.nodes[number].conf['recon_cache_path'],
                            pass_recon.FILE)

    def neighbours(self, part):
        """The pairs of the first row of a partition and the other rows."""
        here, *others = self.parts[part]
        return {(here, other) for other in others}

    def first(self, part):
        """The pair of the first row and its clockwise neighbour."""
        first, = self.neighbours(part) & self.pairs(parts=[part])
        return first

    def recorded(self):
        return read(self.file)

    def found(self):
        """Return a dict, (device id, neighbour id) to PairRecord."""
        ids = {device_key(disk): disk['id'] for disk in self.disks}
        return {(ids[pair.device], ids[pair.neighbour]): pair
                for pair in self.recorded()[0].values()}

    def passes(self):
        return {each.device[2]: each
                for each in self.recorded()[1].values()}


class TestPasses(PassTestCase):

    def test_a_stable_pass_leaves_pairs_that_agree(self):
        begin = time.time()
        self.one_pass()
        end = time.time()
        found = self.found()
        self.assertEqual(self.pairs(), set(found))
        self.assertEqual(self.held(), sum(
            pair.partitions for pair in found.values()))
        for pair in found.values():
            self.assertEqual((0, 0, 0, Answer.MATCH), (
                pair.policy, pair.differed, pair.differing, pair.answer))
            self.assertTrue(begin <= pair.since <= pair.checked <= end)
            self.assertEqual(pair.checked, pair.agreed)

    def test_each_device_has_its_pass(self):
        begin = time.time()
        self.one_pass()
        devices = self.passes()
        self.assertEqual(set(self.names), set(devices))
        self.assertEqual(self.held(), sum(
            each.partitions for each in devices.values()))
        for each in devices.values():
            self.assertEqual(endpoint(self.ring_nodes[0]), each.device[:2])
            self.assertTrue(begin <= each.ended - each.duration)
            self.assertLessEqual(each.ended, time.time())
            self.assertEqual((0, 0), (each.exchanges, each.full_exchanges))

    def test_what_differs_and_is_pushed_has_agreed(self):
        self.one_pass()
        self.put_one('new', 0, 0)
        self.one_pass()
        differed = {key: pair for key, pair in self.found().items()
                    if pair.differed}
        # A round that has pushed something goes on to all that lack it.
        self.assertEqual(len(self.ring_nodes) - 1, len(differed))
        for pair in differed.values():
            self.assertEqual((1, 0, Answer.DIFFER, pair.checked), (
                pair.differed, pair.differing, pair.answer, pair.agreed))
        self.assertEqual(len(differed), sum(
            each.exchanges for each in self.passes().values()))

    def test_what_cannot_be_pushed_is_known_to_differ(self):
        self.one_pass()
        before = self.found()
        self.put_one('new', 0, 0)
        with mock.patch.object(self.daemon, 'sync',
                               return_value=(False, {})):
            self.one_pass()
        found = self.found()
        # What the first neighbour cannot take is offered to the second.
        self.assertEqual(self.neighbours(0), {
            key for key, pair in found.items() if pair.differing})
        key = self.first(0)
        pair = found[key]
        self.assertEqual((1, 1, Answer.DIFFER), (
            pair.differed, pair.differing, pair.answer))
        self.assertEqual(before[key].agreed, pair.agreed)
        self.assertLess(pair.agreed, pair.checked)
        self.assertEqual(before[key].since, pair.since)
        self.one_pass()
        pair = self.found()[key]
        self.assertEqual((0, pair.checked), (pair.differing, pair.agreed))

    def test_an_agreement_is_remembered_by_the_next_daemon(self):
        self.one_pass()
        before = self.found()
        self.put_one('new', 0, 0)
        daemon = self.replicator(0)
        with mock.patch.object(daemon, 'sync', return_value=(False, {})):
            self.one_pass(0, daemon)
        key = self.first(0)
        pair = self.found()[key]
        self.assertEqual((1, before[key].agreed),
                         (pair.differing, pair.agreed))

    def test_messages_about_one_partition_add_up(self):
        self.one_pass()
        self.put_one('new', 0, 0)
        daemon = self.replicator(0, sync_batch_partitions='1')
        with mock.patch.object(daemon, 'sync', return_value=(False, {})):
            self.one_pass(0, daemon)
        found = self.found()
        # One partition was offered to its second neighbour as well.
        self.assertEqual(self.held() + 1, sum(
            pair.partitions for pair in found.values()))
        self.assertEqual({(1, 1, Answer.DIFFER)}, {
            (pair.differed, pair.differing, pair.answer)
            for pair in found.values() if pair.differed})

    def test_a_neighbour_that_does_not_answer_has_not_agreed(self):
        self.servers[1].close()
        self.one_pass()
        for (_, neighbour), pair in self.found().items():
            gone = neighbour % self.hosts == 1
            self.assertEqual(Answer.REFUSED if gone else Answer.MATCH,
                             pair.answer)
            self.assertEqual(gone, pair.agreed is None)
            self.assertEqual(0, pair.differing)

    def test_a_stock_neighbour_agrees_once_all_is_exchanged(self):
        self.nodes[1].broken['LIGHTSYNC'] = 405
        self.one_pass()
        stock = [pair for (_, neighbour), pair in self.found().items()
                 if neighbour % self.hosts == 1]
        self.assertTrue(stock)
        for pair in stock:
            self.assertEqual((Answer.UNSUPPORTED, 0, pair.checked), (
                pair.answer, pair.differing, pair.agreed))

    def test_full_exchanges_are_counted(self):
        self.one_pass(0, self.replicator(0, full_exchange_interval='0'))
        self.assertEqual((self.held(), 0), (
            sum(each.full_exchanges for each in self.passes().values()),
            sum(each.exchanges for each in self.passes().values())))

    def test_a_pass_of_some_partitions_only_is_not_recorded(self):
        for override in ({'override_partitions': [0, 3]},
                         {'override_policies': [0]}):
            self.run_pass(0, **override)
            self.assertEqual(({}, {}), self.recorded())

    def test_a_worker_records_its_devices_beside_those_of_others(self):
        for device, seen in (('sdb', {'sdb'}), ('sda', {'sda', 'sdb'})):
            self.run_pass(0, override_devices=[device])
            self.assertEqual(seen, set(self.passes()))
            self.assertEqual(seen, {pair.device[2] for pair
                                    in self.recorded()[0].values()})

    def test_a_long_pass_is_written_as_it_goes_on(self):
        dumps = []
        genuine = pass_recon.dump_recon_cache

        def dump(update, *args):
            dumps.append(update)
            genuine(update, *args)

        for interval, number in ((0, len(self.pairs()) + 1), (1000, 1)):
            dumps.clear()
            daemon = self.replicator(0)
            daemon.recon._dumped = time.monotonic()
            with mock.patch.object(pass_recon, 'DUMP_INTERVAL', interval), \
                    mock.patch.object(pass_recon, 'dump_recon_cache', dump):
                self.one_pass(0, daemon)
            self.assertEqual(number, len(dumps))
            self.assertIn('devices', dumps[-1])

    def test_a_damaged_file_is_replaced(self):
        with open(self.file, 'wb') as damaged:
            damaged.write(b'{"version": 1, "pairs": {"x": 1}}')
        self.one_pass()
        self.assertEqual(self.pairs(), set(self.found()))
        self.assertIn(self.file, str(self.daemon.logger.at('WARNING')))

    def test_a_directory_in_its_place_stops_no_pass(self):
        os.mkdir(self.file)
        stats = self.one_pass()
        self.assertEqual(self.held(), stats['hashmatch'])
        self.assertIn(self.file, str(self.daemon.logger.lines))

    def assert_dropped(self, *names):
        self.one_pass()
        self.assertEqual(set(), set(names) & {
            *self.recorded()[0], *self.recorded()[1]})
        self.assertEqual(self.pairs(), set(self.found()))

    def rewrite(self, change):
        pairs, devices = self.recorded()
        with open(self.file, 'w') as changed:
            json.dump({'version': 1, **change(
                {name: pair.to_json() for name, pair in pairs.items()},
                {name: each.to_json() for name, each in devices.items()})},
                changed)

    def test_what_the_ring_no_longer_names_is_dropped(self):
        self.one_pass()
        (name, pair), *_ = self.recorded()[0].items()
        gone = [replace(pair, neighbour=('127.0.0.99', 1, 'sda')),
                replace(pair, device=('127.0.0.99', 1, 'sda')),
                replace(pair, policy=7)]
        device = replace(self.passes()['sda'], device=('h', 1, 'sda'))

        def add(pairs, devices):
            pairs.update((each.name, each.to_json()) for each in gone)
            devices[device.name] = device.to_json()
            return {'pairs': pairs, 'devices': devices}

        self.rewrite(add)
        self.assertEqual(len(self.pairs()) + 3, len(self.recorded()[0]))
        self.assert_dropped(device.name, *(each.name for each in gone))

    def test_a_pair_that_is_not_seen_for_a_day_is_dropped(self):
        self.one_pass()
        pair = next(iter(self.recorded()[0].values()))
        for age, kept in ((KEEP - 60, True), (KEEP + 60, False),
                          (-KEEP - 60, False)):
            # A pair of which the ring knows both, but that is none.
            idle = replace(pair, neighbour=pair.device,
                           checked=time.time() - age)
            self.rewrite(lambda pairs, devices: {
                'pairs': {**pairs, idle.name: idle.to_json()}})
            self.one_pass()
            self.assertEqual(kept, idle.name in self.recorded()[0], age)


class RecorderTestCase(SwiftTestCase):
    """A recorder of a node with one device, and two neighbours."""

    def setUp(self):
        super().setUp()
        self.ring_nodes = [node(number, 6200 + number) for number in range(3)]
        self.policy.object_ring = ring_of(self.root, self.ring_nodes)
        self.path = os.path.join(self.root, pass_recon.FILE)

    def recorder(self, number=0):
        """The recorder of a replicator of which one device is told."""
        here = self.ring_nodes[number]
        return PassRecorder(self.conf, SimpleNamespace(
            logger=CapturingLogger(), policies=[self.policy],
            get_local_devices=lambda: {here['device']},
            hand_offs=SimpleNamespace(left=Counter(sda=3),
                                      seconds_left=lambda: 5.0),
            full_exchanges=SimpleNamespace(age=lambda device, now: 9.0),
            neighbours=SimpleNamespace(
                tally=Tally(asked=7, closed=1), local=SimpleNamespace(
                    endpoint=lambda policy, device: endpoint(here)))))

    def note(self, recorder, partitions, answer, differing=()):
        recorder.note_answer(self.policy, 'sda', self.ring_nodes[2],
                             partitions, Told(answer, frozenset(differing)))

    def job(self, partition):
        return {'policy': self.policy, 'device': 'sda',
                'partition': str(partition)}

    def told(self, recorder):
        recorder.end_pass(time.time())
        return next(iter(read(self.path)[0].values()))


class TestRecorder(RecorderTestCase):

    def test_messages_of_a_pass_add_up(self):
        differ, match = Answer.DIFFER, Answer.MATCH
        for messages, expected in (
                # A partition that is asked about again counts once.
                (((range(8), differ, [1, 2]), ([1, 2, 3], differ, [2])),
                 (8, 1, 1, differ)),
                # One that matches does not hide another that differs.
                (((range(8), differ, [1]), (range(8, 16), match)),
                 (16, 1, 1, differ)),
                *((((range(8), match), (range(8, 16), answer)),
                   (16, 0, 0, answer)) for answer in (
                      Answer.REFUSED, Answer.TIMEOUT, Answer.UNMOUNTED,
                      Answer.INVALID, Answer.UNSUPPORTED))):
            recorder = self.recorder()
            recorder.begin_pass(None, False)
            for message in messages:
                self.note(recorder, *message)
            pair = self.told(recorder)
            self.assertEqual((*expected, None), (
                pair.partitions, pair.differed, pair.differing, pair.answer,
                pair.agreed))

    def test_it_agrees_when_the_last_that_differs_is_exchanged(self):
        recorder = self.recorder()
        recorder.begin_pass(None, False)
        self.note(recorder, range(8), Answer.DIFFER, [1, 2])
        neighbours = self.ring_nodes[1:]
        recorder.note_exchange(self.job(1), neighbours, True)
        recorder.note_exchange(self.job(2), neighbours, False)
        recorder.note_exchange(self.job(2), neighbours[:1], True)
        key = next(iter(recorder._comparisons))
        record = recorder._comparisons[key].record
        self.assertEqual((2, 1, None), (record.differed, record.differing,
                                        record.agreed))
        recorder.note_exchange(self.job(2), neighbours, True)
        pair = self.told(recorder)
        self.assertEqual((2, 0, pair.checked), (
            pair.differed, pair.differing, pair.agreed))

    def test_one_of_the_devices_tells_what_they_have_in_common(self):
        recorder = self.recorder()
        recorder.begin_pass(('sdb', 'sda'), False)
        recorder.end_pass(time.time(), 3)
        with open(self.path) as written:
            devices = json.load(written)['devices']
        self.assertEqual([(7, 3, 1, 9.0)], [
            (each['asked'], each['messages'], each['closed'],
             each['scrub_seconds']) for each in devices.values()
            if each['messages']])

    def test_nothing_is_recorded_outside_of_a_pass(self):
        recorder = self.recorder()
        self.note(recorder, range(8), Answer.MATCH)
        recorder.note_exchange(self.job(1), self.ring_nodes, True)
        recorder.end_pass(0)
        self.assertFalse(os.path.exists(self.path))

    def test_two_workers_that_write_at_once_lose_nothing(self):
        def work(number):
            for _ in range(40):
                recorder = self.recorder(number)
                recorder.begin_pass(None, False)
                with mock.patch.object(pass_recon, 'DUMP_INTERVAL', 0):
                    self.note(recorder, range(PARTS), Answer.MATCH)
                recorder.end_pass(time.time())
                pairs, devices = read(self.path)
                own = '127.0.0.1:%d/sda' % (6200 + number)
                if own not in devices or not any(
                        own + ' ' in name for name in pairs):
                    os._exit(1)
            os._exit(bool(recorder.logger.lines))

        context = multiprocessing.get_context('fork')
        workers = [context.Process(target=work, args=(number,))
                   for number in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
            self.assertEqual(0, worker.exitcode)
        pairs, devices = read(self.path)
        self.assertEqual((2, 2), (len(pairs), len(devices)))
        self.assertEqual([pass_recon.FILE], [
            name for name in os.listdir(self.root)
            if name.startswith(('tmp', 'lightsync'))])

    def test_a_record_is_named_by_what_it_is_about(self):
        recorder = self.recorder()
        recorder.begin_pass(None, False)
        self.note(recorder, [0], Answer.MATCH)
        recorder.end_pass(time.time())
        with open(self.path) as written:
            state = json.load(written)
        self.assertEqual(['0 127.0.0.1:6200/sda 127.0.0.1:6202/sda'],
                         list(state['pairs']))
        self.assertEqual(['127.0.0.1:6200/sda'], list(state['devices']))
        self.assertEqual(sorted(each.name for each in fields(PairRecord)),
                         sorted(*[each for each
                                  in state['pairs'].values()]))
