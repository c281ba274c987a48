# SPDX-License-Identifier: Apache-2.0
"""Primary-role writes on real servers and disks, without an object-replicator:
what all devices hold, they have from the convergers.
"""

import json
import os
import signal
import unittest
from contextlib import ExitStack

from swift.common.utils import hash_path
from swiftclient import ClientException

from swift_lightsync.proar.core.role_ring import roles, slot_of
from tests.functional.client_features import Client, ClientFeatures
from tests.functional.clusters import R3, object_servers, wait_for
from tests.functional.objects import ClusterObjects
from tests.functional.served import ServedObjects
from tools.cluster import ClusterSpec, Policy

FAST = Policy('fast', 1, 3, part_power=5, proar=True)
SMALL = Policy('small', 2, 3, part_power=5, kv=True, proar=True)
#: A refusal of a node is forgotten at once.
OPTIONS = {'proxy-server': {'app:proxy-server': {
    'error_suppression_interval': 0.5}}}
CONVERGER = 'object-converger'
_at_end = ExitStack()
_cluster = None


def setUpModule():
    global _cluster
    _cluster = _at_end.enter_context(object_servers(
        nodes=4, policies=(R3, FAST, SMALL),
        services=ClusterSpec.services, options=OPTIONS))


def tearDownModule():
    _at_end.close()


class PrimaryRoleCase(Client, unittest.TestCase):
    """The cluster, and a container of a policy with primary-role writes."""

    policy = FAST

    def setUp(self):
        self.cluster = _cluster
        super().setUp()
        self.account = self.client.get_auth()[0].rpartition('/')[2]
        self.objects = ClusterObjects(self.cluster, self.policy.index)
        self.ring = self.cluster.ring(self.policy)
        self.addCleanup(self.start_convergers)

    def start_convergers(self):
        self.cluster.swift_init(CONVERGER, 'start', check=False)

    def kill_convergers(self):
        for node in self.cluster.spec.node_numbers():
            for pid in self.cluster.pids(node, CONVERGER):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(
            self.cluster.pids(node, CONVERGER)
            for node in self.cluster.spec.node_numbers()), 'they end')
        self.cluster.daemons.drop_pid_files()

    def roles(self, name):
        """:returns: the names of an object's devices, by their roles"""
        path_hash = bytes.fromhex(hash_path(
            self.account, self.container, name))
        devices = [node['device'] for node in self.ring.get_nodes(
            self.account, self.container, name)[1]]
        return roles(devices, slot_of(path_hash, len(devices)))

    def replicas(self, name):
        """:returns: a dict of device -> what it holds of an object: a dict of
            file name -> (bytes, all extended attributes), for those that
            hold anything
        """
        self.cluster.ring(self.policy)
        wanted = hash_path(self.account, self.container, name)
        found = {}
        for device in self.objects.devices():
            for top, _, names in os.walk(self.objects.objects_path(device)):
                if os.path.basename(top) == wanted and names:
                    found[device] = {each: _file(os.path.join(top, each))
                                     for each in names}
        return found

    def converged(self, name, without=()):
        """Whether all devices of an object hold the same."""
        found = self.replicas(name)
        wanted = set(self.roles(name)) - set(without)
        return wanted <= set(found) and all(
            found[device] == found[self.roles(name)[0]]
            for device in wanted)

    def wait_for_all(self, names, **kwargs):
        for name in names:
            wait_for(lambda: self.converged(name, **kwargs),
                     '%s is the same on all devices: %s' % (
                         name, list(self.replicas(name))), 120)

    def lag(self, *args):
        """:returns: the exit status of swift-proar-lag and the devices that
            hold what others lack
        """
        done = self.cluster.run(['swift-proar-lag', '--json', *args],
                                check=False)
        return done.returncode, {each['device'] for each in json.loads(
            done.stdout)['devices'] if each['entries']}

    def lag_where(self, device, *args):
        """:returns: the lag if a device is in it, else None"""
        found = self.lag(*args)
        return found if device in found[1] else None


def _file(path):
    try:
        with open(path, 'rb') as file:
            return file.read(), {name: os.getxattr(file.fileno(), name)
                                 for name in os.listxattr(file.fileno())}
    except FileNotFoundError:
        return None  # superseded just now


class TestConvergence(PrimaryRoleCase):

    def change_some(self):
        """:returns: the names of objects that were changed, in all ways"""
        self.put('put', os.urandom(1000), X_Object_Meta_Color='blue',
                 Content_Type='image/png', X_Delete_After='3600')
        self.put('large', os.urandom(3 << 20))
        self.put('empty', b'')
        self.put('päth/with ünicode', b'x', X_Object_Meta_Ü='ö')
        self.put('posted', b'body', X_Object_Meta_Color='blue')
        self.post('posted', X_Object_Meta_Color='red')
        self.put('changed', b'before')
        self.put('changed', b'after')
        self.put('deleted')
        self.delete('deleted')
        return ('put', 'large', 'empty', 'päth/with ünicode', 'posted',
                'changed', 'deleted')

    def test_one_copy_when_acknowledged_and_r_when_converged(self):
        self.kill_convergers()
        names = self.change_some()
        for name in names:
            self.assertEqual(self.roles(name)[:1], list(self.replicas(name)))
        before = {name: self.replicas(name)[self.roles(name)[0]]
                  for name in names}
        self.start_convergers()
        self.wait_for_all(names)
        for name in names:
            found = self.replicas(name)
            self.assertEqual(sorted(self.roles(name)), sorted(found))
            for files in found.values():
                self.assertEqual(before[name], files)

    def test_a_running_converger_follows_by_itself(self):
        for number in range(3):
            self.put('o', b'%d' % number)
            self.wait_for_all(['o'])

    def test_what_was_logged_outlives_the_death_of_the_convergers(self):
        self.kill_convergers()
        names = ['o%d' % number for number in range(20)]
        for name in names:
            self.put(name)
        self.start_convergers()
        self.kill_convergers()
        self.start_convergers()
        self.wait_for_all(names)

    def test_a_dead_node_holds_up_nobody_and_gets_all_when_it_is_back(self):
        self.put('o')
        self.wait_for_all(['o'])
        primary, other, dead = self.roles('o')
        node = self.cluster.node_of(dead)
        self.cluster.kill(node)
        try:
            self.put('o', b'meanwhile')
            self.wait_for_all(['o'], without=[dead])
            self.assertNotEqual(self.replicas('o')[primary],
                                self.replicas('o')[dead])
            # Convergers report every second.
            status, _ = wait_for(
                lambda: self.lag_where(primary, '--max-seconds', '0.001'),
                '%s tells what %s lacks' % (primary, dead))
            self.assertEqual(1, status)
        finally:
            self.cluster.start(node)
        self.wait_for_all(['o'])

    def test_a_primary_role_gets_what_it_missed_when_it_is_back(self):
        self.put('o', b'before')
        self.wait_for_all(['o'])
        primary = self.roles('o')[0]
        node = self.cluster.node_of(primary)
        self.cluster.kill(node)
        try:
            self.put('o', b'meanwhile')
        finally:
            self.cluster.start(node)
        self.wait_for_all(['o'])
        (data, _), = self.replicas('o')[primary].values()
        self.assertEqual(b'meanwhile', data)

    def test_the_lag_is_told_and_then_there_is_none(self):
        self.kill_convergers()
        self.put('o')
        self.start_convergers()
        self.wait_for_all(['o'])
        wait_for(lambda: self.lag() == (0, set()),
                 'no device lacks anything')

    def test_a_listing_has_each_object_once_as_it_is(self):
        self.put('o', b'before')
        self.put('o', b'as it is')
        self.put('gone')
        self.delete('gone')
        self.wait_for_all(['o', 'gone'])
        _, listing = self.client.get_container(self.container)
        self.assertEqual([('o', 8)], [(each['name'], each['bytes'])
                                      for each in listing])


class Features(ClientFeatures):

    def delete_again(self, name):
        """As others, once all have converged: where the primary role is not
        vouched for, all are asked, and one that has the object deletes it.
        """
        def is_gone():
            try:
                self.delete(name)
            except ClientException as err:
                self.assertEqual(404, err.http_status)
                return True
            return False
        wait_for(is_gone, '%s is deleted everywhere' % name)


class TestFeatures(Features, PrimaryRoleCase):
    pass


class TestVolumes(Features, PrimaryRoleCase):
    """A policy that keeps its objects in volumes."""

    policy = SMALL

    def test_all_devices_serve_the_same(self):
        objects = ServedObjects(self.cluster, self.policy.index)
        bodies = {'o%d' % number: os.urandom(100 << number)
                  for number in range(12)}
        for name, body in bodies.items():
            self.put(name, body)
        self.post('o1', X_Object_Meta_Color='red')
        self.delete('o2')

        def served(name):
            """What each device has: status, body, time and metadata."""
            partition, nodes = self.ring.get_nodes(
                self.account, self.container, name)
            answers = [objects.ask_path(node, 'GET', '/%s/%d/%s/%s/%s' % (
                node['device'], partition, self.account, self.container,
                name)) for node in nodes]
            return {(answer.status, answer.body,
                     answer.headers.get('x-backend-timestamp'),
                     answer.headers.get('x-object-meta-color'))
                    for answer in answers}
        for name, body in bodies.items():
            found, = wait_for(lambda: len(served(name)) == 1 and served(name),
                              '%s is served by all' % name, 120)
            self.assertEqual(
                (404, None) if name == 'o2' else (200, body),
                (found[0], None if name == 'o2' else found[1]))
            self.assertTrue(found[2])
            self.assertEqual('red' if name == 'o1' else None, found[3])
