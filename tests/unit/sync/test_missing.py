# SPDX-License-Identifier: Apache-2.0
"""missing: only what a neighbour lacks is pushed, by a real rsync."""

import os
import shutil
import subprocess
from unittest import mock

from swift.common.utils import Timestamp, hash_path

from swift_lightsync.sync import missing, missing_message
from tests.unit.sync.exchanges import NOW, PARTS, Meddler, RsyncTestCase


def alike(count, suffix):
    """Return names of objects whose hashes end with a suffix."""
    names = (str(number) for number in range(10 ** 9))
    return [name for name, _ in zip(
        (name for name in names
         if hash_path('a', 'c', name).endswith(suffix)), range(count))]


class MissingTestCase(RsyncTestCase):

    def post(self, number, part, name, stamp, **more):
        self.diskfile(number, part, name).write_metadata(dict({
            'X-Timestamp': Timestamp(NOW + stamp).internal,
            'X-Object-Meta-Color': 'red'}, **more))

    def delete(self, number, part, name, stamp):
        self.diskfile(number, part, name).delete(Timestamp(NOW + stamp))

    def diskfile(self, number, part, name):
        return self.nodes[number].disk.get_diskfile(
            'sda', part, 'a', 'c', name, self.policy)

    def pushed(self, number=0):
        """Return the paths that a pass of a node pushes."""
        with self.rsyncs() as commands:
            self.stats = self.run_pass(number)
        return sorted(path for _, paths in commands for path in paths)

    def path_of(self, part, name):
        digest = hash_path('a', 'c', name)
        return '%d/%s/%s' % (part, digest[-3:], digest)


class TestWhatIsObsolete(MissingTestCase):

    def test_nothing_is_pushed_to_who_has_newer_files(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [1], range(2))
        for part in range(2, 4):
            self.delete(1, part, 'o', 2)
        for part in range(4, 6):
            self.post(1, part, 'o', 2)
        before = self.tree(1)
        self.assertEqual([], self.pushed())
        self.assertEqual(before, self.tree(1))
        # Nothing was left to push: the neighbour holds all and more.
        self.assertEqual((PARTS, PARTS, 0, 0, 0), tuple(getattr(
            self.stats, name) for name in (
                'success', 'hashmatch', 'failure', 'rsync', 'suffix_sync')))
        self.assertNotIn('REPLICATE', self.requests()[1])
        self.run_pass(1)
        self.assert_converged(files=PARTS + 2)

    def test_of_a_suffix_only_the_objects_that_are_missing_are_pushed(self):
        names = alike(6, '5a5')
        for name in names:
            self.put_all(name, 1, parts=[0])
        self.put_one(0, 0, names[0], 2)
        self.delete(0, 0, names[1], 2)
        self.post(0, 0, names[2], 2)
        self.put_one(1, 0, names[3], 2)
        shutil.rmtree(os.path.join(os.path.dirname(self.path(1, 0)),
                                   self.path_of(0, names[4])))
        self.nodes[1].disk.invalidate_hash(
            os.path.join(self.path(1, 0), '5a5'))
        self.assertEqual(sorted(self.path_of(0, names[number])
                                for number in (0, 1, 2, 4)), self.pushed())
        self.assert_stats(self.stats, rsync=1, suffix_sync=1)
        self.run_pass(1)
        self.assert_converged([0], files=7)

    def test_a_tombstone_goes_to_who_has_data_as_old(self):
        self.put_all('o', 1, parts=range(2))
        self.delete(0, 0, 'o', 1)
        self.delete(1, 1, 'o', 1)
        self.assertEqual([self.path_of(0, 'o')], self.pushed())
        self.assertEqual([self.path_of(1, 'o')], self.pushed(1))
        self.assertEqual([], self.pushed())
        self.assert_converged(range(2), files=2)

    def test_newer_metadata_goes_to_who_has_newer_data_only_if_it_is_newer(
            self):
        self.put_all('o', 1, parts=range(3))
        # The peer's data is newer than our data, and than our metadata.
        self.post(0, 0, 'o', 2)
        self.put_one(1, 0, 'o', 3)
        # The peer's data is newer than our data, not than our metadata.
        self.post(0, 1, 'o', 4)
        self.put_one(1, 1, 'o', 3)
        # Each has newer metadata of one kind: ours is the content type.
        ctype = {'Content-Type': 'x/y', 'Content-Type-Timestamp':
                 Timestamp(NOW + 2).internal}
        self.post(0, 2, 'o', 2, **ctype)
        self.post(1, 2, 'o', 3)
        self.assertEqual([self.path_of(1, 'o'), self.path_of(2, 'o')],
                         self.pushed())
        self.run_pass(1)
        self.assert_converged(range(3))
        for number in (0, 1):
            with self.diskfile(number, 2, 'o').open() as found:
                self.assertEqual('x/y', found.get_metadata()['Content-Type'])
            with self.diskfile(number, 1, 'o').open() as found:
                self.assertEqual('red', found.get_metadata()[
                    'X-Object-Meta-Color'])

    def test_what_a_peer_has_nothing_of_is_pushed_without_a_question(self):
        self.put_all(numbers=[0])
        self.assertEqual(['%d/%s' % (part, hash_path('a', 'c', 'o')[-3:])
                          for part in range(PARTS)], self.pushed())
        self.assertEqual(['suffixes', 'rehash'], self.others())
        self.assert_converged(files=PARTS)


class TestHiddenDifferences(MissingTestCase):
    """Suffixes differ, and no list of objects shows why."""

    def test_a_push_that_was_not_followed_by_hashing_is_made_up_for(self):
        self.put_all('o', 1, parts=[0])
        self.hash_all([0])
        self.put_one(0, 0, 'o', 2)
        self.hash_all([0])
        objects = [os.path.dirname(self.path(number, 0))
                   for number in (0, 1)]
        ours, theirs = (os.path.join(path, self.path_of(0, 'o'))
                        for path in objects)
        name, = os.listdir(ours)
        subprocess.check_call(['rsync', '--recursive', '--xattrs',
                               ours + '/', theirs])
        self.assertEqual(2, len(os.listdir(theirs)))
        self.assertEqual([], self.pushed())
        self.assertEqual(['suffixes', 'missing', 'rehash'], self.others())
        self.assertEqual([name], os.listdir(theirs))
        self.run_pass(0)
        self.assertEqual([], self.others())

    def test_a_meta_file_without_data_travels(self):
        self.put_all('o', 1, parts=[0])
        self.post(0, 0, 'o', 2)
        self.hash_all([0])
        for number in (0, 1):
            path = os.path.join(os.path.dirname(self.path(number, 0)),
                                self.path_of(0, 'o'))
            data, = (name for name in os.listdir(path)
                     if name.endswith('.data'))
            os.unlink(os.path.join(path, data))
            self.nodes[number].disk.invalidate_hash(os.path.dirname(path))
        # A suffix with nothing but such a file is none on the other side.
        self.run_pass(0)
        self.assert_converged([0], files=1)
        self.others()
        self.run_pass(0)
        self.assertEqual([], self.others())


class TestManyObjects(MissingTestCase):

    def setUp(self):
        super().setUp()
        self.names = alike(9, '0f0')
        for name in self.names:
            self.put_all(name, 1, parts=[0, 1])
        for name in self.names[::2]:
            self.put_one(0, 0, name, 2)
            self.put_one(1, 1, name, 2)
        self.put_one(0, 1, self.names[1], 2)
        self.expected = sorted(
            [self.path_of(0, name) for name in self.names[::2]]
            + [self.path_of(1, self.names[1])])

    def test_a_suffix_is_offered_in_as_many_messages_as_it_takes(self):
        with mock.patch.object(missing, 'MAX_OBJECTS', 4), \
                mock.patch.object(missing, 'PORTION', 2), \
                mock.patch.object(missing_message, 'MAX_OBJECTS', 4):
            self.assertEqual(self.expected, self.pushed())
        # 18 objects, four at a time.
        self.assertEqual(['suffixes'] + ['missing'] * 5 + ['rehash'],
                         self.others())
        self.run_pass(1)
        self.assert_converged([0, 1], files=18)

    def test_what_was_not_looked_at_in_time_is_offered_again(self):
        genuine = missing.look_up
        with mock.patch.object(missing, 'look_up', lambda *args: genuine(
                *args[:-1], -1)), \
                mock.patch('swift_lightsync.sync.fingerprints.PORTION', 5):
            # Only "missing" gets on without patience.
            with mock.patch.object(self.nodes[1].app, '_reads',
                                   mock.Mock(in_time=self.patient)):
                self.assertEqual(self.expected, self.pushed())
        # Each message is looked at five objects far, or to the end of a
        # partition: 9 and 9 objects.
        self.assertEqual(['suffixes'] + ['missing'] * 4 + ['rehash'],
                         self.others())

    def patient(self, method, device, partitions, deadline):
        return method(device, partitions), []


class TestPeers(MissingTestCase):

    def test_one_that_does_not_know_the_message_gets_whole_suffixes(self):
        for stamp, status in enumerate((400, 404, 405, 501), 2):
            self.put_all('o', stamp)
            self.put_all('o', stamp + 10, [0])
            with self.subTest(status=status), \
                    Meddler(self.nodes[1], 'missing', reply=status) as met:
                self.assertEqual(
                    ['%d/%s' % (part, hash_path('a', 'c', 'o')[-3:])
                     for part in range(PARTS)], self.pushed())
                self.assertEqual(1, met.calls)
                self.assertEqual([], self.errors())
                self.assert_converged(files=PARTS)

    def test_an_object_that_the_peer_cannot_look_up_leaves_out_its_partition(
            self):
        self.put_newer()
        self.hash_all()
        manager = self.nodes[1].app._diskfile_router[self.policy]
        original = manager.get_diskfile_from_hash

        def broken(device, partition, *args, **kwargs):
            if int(partition) == 3:
                raise OSError(5, 'Input/output error')
            return original(device, partition, *args, **kwargs)

        with mock.patch.object(manager, 'get_diskfile_from_hash', broken):
            with self.rsyncs() as commands:
                self.run_pass(0)
        self.assertEqual(
            [[self.path_of(part, 'o') for part in range(PARTS) if part != 3],
             ['3/' + hash_path('a', 'c', 'o')[-3:]]],
            [sorted(paths) for _, paths in commands])
        self.assertEqual(1, len([
            line for line in self.nodes[1].logger.at('ERROR')
            if 'Unable to look up objects of partition 3 on sda' in line]))
        self.assert_converged(files=PARTS)

    def test_looking_creates_nothing_and_holds_up_nobody(self):
        self.put_all(numbers=[0])
        line = missing_message.line_of(
            hash_path('a', 'c', 'o'), {'ts_data': Timestamp(1)})
        self.assertEqual(
            {part: (3, [0, 1, 2]) for part in (1, 2 ** 32 - 1)},
            self.daemons[0].neighbours.client.missing(
                self.ring_nodes[1], self.policy,
                {1: [line] * 3, 2 ** 32 - 1: [line] * 3}))
        self.assertEqual([], [
            name for _, names, files in os.walk(os.path.join(
                self.nodes[1].devices_dir, 'sda')) for name in names + files])
