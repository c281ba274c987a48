# SPDX-License-Identifier: Apache-2.0
"""Errors of a disk beside stock Swift's: each errno at each kind of call, for
each system.

A proxy and five nodes serve a container of each kind. While one disk fails, a
client of ours meets no 5xx that a client of Swift's own files would not meet
with the same fault, and afterwards all that was acknowledged is read.
"""

import errno
import re
import unittest
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from urllib.parse import urlsplit

import pytest

from tests.functional.clusters import object_servers
from tests.functional.errno_faults import BY_FILE, Fault
from tests.functional.role_cluster import faulty
from tests.functional.served import ask
from tools.cluster import ClusterSpec, Policy

ERRNOS = tuple(getattr(errno, name) for name in (
    'EACCES', 'EROFS', 'EIO', 'ENOSPC', 'ENOMEM', 'EMFILE'))
FILES = Policy('files', 0, 3, part_power=4)
FRAGMENTS = Policy('fragments', 1, 5, part_power=4, parity=2)
#: container -> its policy, whether it has versions, and the one of Swift's
#: own classes that it is held to
KINDS = {
    'files': (FILES, False, None),
    'fragments': (FRAGMENTS, False, None),
    'volumes': (Policy('volumes', 2, 3, part_power=4, kv=True), False,
                'files'),
    'roles': (Policy('roles', 3, 3, part_power=4, proar=True), False,
              'files'),
    'both': (Policy('both', 4, 3, part_power=4, kv=True, proar=True), False,
             'files'),
    'versions': (FILES, True, 'files'),
    'fragments-in-volumes': (
        Policy('packed', 5, 5, part_power=4, parity=2, kv=True), False,
        'fragments')}
#: what fails -> the path below the device, and the calls; none: all
PLACES = {
    'all': ('.*', ()),
    'making and writing': ('.*', (*BY_FILE[1:], 'mkdir', 'rename', 'link')),
    'syncing': ('.*', ('fsync', 'fdatasync')),
    'listing': ('.*', ('listdir', 'scandir')),
    'reading': ('(?!containers|accounts).*', ('open', 'pread')),
    'containers': ('(containers|accounts).*', ())}
OPTIONS = {
    'proxy-server': {'app:proxy-server': {
        # No device is avoided: each request meets the fault.
        'error_suppression_interval': 0, 'conn_timeout': 60,
        'node_timeout': 120}}}


@dataclass
class Container:
    """What a client does in a container, and what it was told.

    :param address: of the proxy
    :param path: of the container
    :param headers: of each request
    """

    address: tuple
    path: str
    headers: dict
    #: name -> the body that was acknowledged; None: it was deleted
    bodies: dict = field(default_factory=dict)
    number: int = 0

    def ask(self, verb, name, body=None, **headers):
        return ask(self.address, verb, '%s/%s' % (self.path, name), body,
                   {**self.headers, **headers})

    def put(self, name):
        """Put an object; return the status."""
        self.number += 1
        body = b'%d' % self.number
        status = self.ask('PUT', name, body).status
        if status == 201:
            self.bodies[name] = body
        return status

    def ask_all(self):
        """Make each kind of request; return verb -> status."""
        found = {'PUT': self.put('new-%d' % self.number),
                 'PUT, over': self.put('a'),
                 'POST': self.ask('POST', 'b', **{
                     'X-Object-Meta-Color': str(self.number)}).status,
                 'GET': self.ask('GET', 'b').status,
                 'HEAD': self.ask('HEAD', 'b').status,
                 'DELETE': self.ask('DELETE', 'c').status}
        if found['DELETE'] in (204, 404):
            self.bodies['c'] = None
        return found

    def wrong(self):
        """Return the names of which something else is read."""
        return [name for name, body in self.bodies.items()
                if self._read(name) != body]

    def _read(self, name):
        answer = self.ask('GET', name, **{'X-Newest': 'true'})
        return None if answer.status == 404 else answer.body


_at_end = ExitStack()
_faults = _cluster = None


def setUpModule():
    global _faults, _cluster
    _faults = _at_end.enter_context(faulty())
    policies = {kind[0].name: kind[0] for kind in KINDS.values()}
    _cluster = _at_end.enter_context(object_servers(
        nodes=5, replication_ports=False, policies=tuple(policies.values()),
        services=ClusterSpec.services, options=OPTIONS,
        versioning={'site': 'rome', 'site_preference': 'rome'}))


def tearDownModule():
    # pytest makes no cleanups of modules.
    _at_end.close()


class TestTable(unittest.TestCase):

    def setUp(self):
        client = _cluster.client()
        self.addCleanup(client.close)
        self.containers = {}
        for name, (policy, has_versions, _) in KINDS.items():
            client.put_container(name, {
                'X-Storage-Policy': policy.name,
                **({'X-Versions-Enabled': 'true'} if has_versions else {})})
            url = urlsplit(client.url)
            self.containers[name] = Container(
                (url.hostname, url.port), '%s/%s' % (url.path, name),
                {'X-Auth-Token': client.token})

    def statuses(self, place, number):
        """Return {container: {verb: status}} while there is a fault."""
        for name, container in self.containers.items():
            self.assertEqual([201] * 3, [
                container.put(each) for each in 'abc'], name)
        path, calls = PLACES[place]
        device = re.escape(_cluster.device_path(1, _cluster.devices(1)[0]))
        with _faults.present_are(Fault(
                '%s/%s' % (device, path), number, list(calls))):
            return {name: container.ask_all()
                    for name, container in self.containers.items()}

    def hold(self, faults):
        """Compare each system with Swift's classes.

        :param faults: pairs of a key of PLACES and an errno
        """
        worse, cells = [], 0
        for place, number in faults:
            found = self.statuses(place, number)
            for name, (_, _, other) in KINDS.items():
                for verb, status in found[name].items() if other else ():
                    cells += 1
                    if 500 <= status > found[other][verb]:
                        worse.append((place, errno.errorcode[number], name,
                                      verb, status, found[other][verb]))
            self.assertEqual([], [
                (place, errno.errorcode[number], name, each)
                for name, container in self.containers.items()
                for each in container.wrong()])
        print('%d cells' % cells)
        self.assertEqual([], worse)

    def test_no_system_gives_what_stock_swift_would_not(self):
        self.hold(zip(PLACES, ERRNOS))

    @pytest.mark.long
    def test_so_it_is_with_each_errno_at_each_place(self):
        self.hold(product(PLACES, ERRNOS))
