# SPDX-License-Identifier: Apache-2.0
"""Many clients at one object-server whose objects are in volumes.

LOSF_LOAD_MINUTES says for how long; by default that is one.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.functional.clusters import object_servers
from tests.functional.served import ServedObjects
from tools.cluster import Policy

MINUTES = float(os.environ.get('LOSF_LOAD_MINUTES', '1'))
CLIENTS = 64
OBJECTS = 6
#: seconds for which an index server does nothing
STOPPED = 3
#: how often each happens
CHANGES = {'put': 36, 'put_long': 4, 'get': 30, 'head': 10, 'post': 10,
           'delete': 10}


@dataclass(frozen=True)
class Request:
    """:param kind: one of CHANGES
    :param device: that it was for
    :param started: seconds
    :param ended: seconds
    """
    kind: str
    device: str
    started: float
    ended: float


class Client:
    """Changes objects of its own, and looks whether they are what they should.

    :param objects: a ServedObjects of its own
    :param number: of the client
    """

    def __init__(self, objects, number):
        self.objects = objects
        self.chance = random.Random(number)
        self.names = ['%d-%d' % (number, each) for each in range(OBJECTS)]
        self.requests = []

    def work(self, stop):
        """:param stop: an Event that ends it"""
        kinds, weights = list(CHANGES), list(CHANGES.values())
        while not stop.is_set():
            name = self.chance.choice(self.names)
            kind, = self.chance.choices(kinds, weights)
            version = self.objects.newest.get(name)
            if kind in ('post', 'delete', 'head') and not (
                    version and version.body is not None):
                kind = 'put'
            node, = self.objects.nodes(name)[1]
            started = time.monotonic()
            getattr(self, kind)(name, node)
            self.requests.append(Request(kind, node['device'], started,
                                         time.monotonic()))

    def put(self, name, node):
        self.objects.put(name, self.chance.randrange(20000))

    def put_long(self, name, node):
        self.objects.put(name, self.chance.randrange(300000, 500000))

    def post(self, name, node):
        self.objects.post(name)

    def delete(self, name, node):
        self.objects.delete(name)

    def head(self, name, node):
        answer = self.objects.ask(node, 'HEAD', name)
        version = self.objects.newest[name]
        seen = (answer.headers.get('x-backend-timestamp'),
                answer.headers.get('x-object-meta-color'),
                answer.headers.get('content-length'))
        if seen != (version.timestamp, version.color,
                    str(len(version.body))):
            raise AssertionError('HEAD %s: %s, not %s' % (
                name, seen, version.timestamp))

    def get(self, name, node):
        version = self.objects.newest.get(name)
        seen = self.objects.served(name, node)
        if seen != version:
            raise AssertionError('GET %s: %s, not %s' % (
                name, seen and seen.timestamp,
                version and version.timestamp))


@pytest.mark.long
class TestLoad(unittest.TestCase):

    def test_all_is_right_and_a_disk_that_hangs_holds_up_no_other(self):
        with object_servers(
                nodes=1, devices=2, replication_ports=False, options={},
                policies=(Policy('small', 0, 1, part_power=5, kv=True),),
                disk_size=4 * 2 ** 30) as cluster:
            self.cluster = cluster
            clients = [Client(ServedObjects(cluster, 0), number)
                       for number in range(CLIENTS)]
            with self.prober() as prober:
                stopped = self.run_clients(clients)
                longest, asked = json.loads(prober.communicate()[0])
            requests = [each for client in clients
                        for each in client.requests]
            self.report(requests, stopped, longest, asked)
            self.assert_served(requests, stopped, longest)
            for client in clients:
                self.assertEqual([], client.objects.wrong())

    def prober(self):
        """:returns: the Popen of a hub_prober"""
        return subprocess.Popen(
            [sys.executable, '-m', 'tests.functional.hub_prober',
             self.cluster.node_ip(1),
             str(self.cluster.spec.port('object-server', 1))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run_clients(self, clients):
        """:returns: when the index server of n1d1 began to do nothing"""
        stop = threading.Event()
        with ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(each.work, stop) for each in clients]
            try:
                self.wait(running, MINUTES * 30)
                stopped = time.monotonic()
                self.hang(running)
                self.wait(running, MINUTES * 30)
            finally:
                stop.set()
            for each in running:
                each.result()
        return stopped

    def wait(self, running, seconds):
        """Let clients work, unless one fails."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(
                each.done() for each in running):
            time.sleep(0.1)

    def hang(self, running):
        path = self.cluster.device_path(1, 'n1d1')
        pid, = [each.pid for each in self.cluster.daemons.all()
                if self.cluster.daemons.name(each) == 'index-server'
                and path in each.argv]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.wait(running, STOPPED)
        finally:
            os.kill(pid, signal.SIGCONT)

    def report(self, requests, stopped, longest, asked):
        print('%d requests in %g minutes: %s' % (
            len(requests), MINUTES,
            dict(Counter(each.kind for each in requests))))
        print('longest wait of %d that need no disk: %.3f s' % (
            asked, longest))
        for device in ('n1d1', 'n1d2'):
            waits = sorted(each.ended - each.started for each in requests
                           if each.device == device)
            meanwhile = self.meanwhile(requests, stopped, device)
            print('%s: median %.3f s, 99%% in %.3f s, longest %.3f s; '
                  '%d ended while the index server of n1d1 stood still' % (
                      device, waits[len(waits) // 2],
                      waits[len(waits) * 99 // 100], waits[-1],
                      len(meanwhile)))

    def meanwhile(self, requests, stopped, device):
        """:returns: requests that came and were answered in that time"""
        return [each for each in requests if each.device == device
                and stopped < each.started and each.ended < stopped + STOPPED]

    def assert_served(self, requests, stopped, longest):
        self.assertLess(longest, STOPPED / 2)
        served = self.meanwhile(requests, stopped, 'n1d2')
        self.assertEqual(set(CHANGES), {each.kind for each in served})
