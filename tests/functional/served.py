# SPDX-License-Identifier: Apache-2.0
"""What object-servers of a development cluster serve, asked one by one."""

import http.client
import os
import random
from dataclasses import dataclass, replace

from swift.common.utils import Timestamp

from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tests.functional.objects import ClusterObjects

#: seconds that an answer may take on a busy machine
PATIENCE = 60


@dataclass(frozen=True)
class Answer:
    """:param status: a number
    :param headers: a dict, with names in lower case
    :param body: bytes; what came of them, if the connection broke
    """
    status: int
    headers: dict
    body: bytes


@dataclass(frozen=True)
class Version:
    """What a client sees of an object.

    :param timestamp: of the last change
    :param body: bytes; None of a deleted one
    :param color: metadata that POSTs change
    """
    timestamp: str
    body: bytes = None
    color: str = None


def ask(address, method, path, body=None, headers=None):
    """:returns: the :class:`Answer` of a server"""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        try:
            received = response.read()
        except http.client.IncompleteRead as err:
            received = err.partial
        return Answer(response.status, {
            name.lower(): value for name, value in response.getheaders()},
            received)
    finally:
        connection.close()


class ServedObjects(ClusterObjects):
    """Objects as the object-servers of their devices serve them, and what a
    client was told is stored.
    """

    def __init__(self, cluster, policy):
        super().__init__(cluster, policy)
        self.random = random.Random(1)
        #: name -> Version
        self.newest = {}

    def ask(self, node, method, name, body=None, **headers):
        """:param node: of the ring
        :param headers: with underscores for hyphens
        """
        partition, _ = self.nodes(name)
        return self.ask_path(node, method, '/%s/%d/a/c/%s' % (
            node['device'], partition, name), body, **headers)

    def ask_path(self, node, method, path, body=None, **headers):
        """As :meth:`ask`, of a whole path: /device/partition/..."""
        headers = {key.replace('_', '-'): value
                   for key, value in headers.items()}
        headers['X-Backend-Storage-Policy-Index'] = str(int(self.policy))
        return ask((node['ip'], node['port']), method, path, body, headers)

    def _change(self, nodes, method, name, version, body=None, **headers):
        for node in nodes or self.nodes(name)[1]:
            answer = self.ask(node, method, name, body,
                              X_Timestamp=version.timestamp, **headers)
            # 404: a tombstone where nothing was
            if answer.status // 100 != 2 and answer.status != 404:
                raise AssertionError('%s %s: %s' % (method, name, answer))
        self.newest[name] = version

    def put(self, name, length=100, nodes=None):
        """Give an object a new version on nodes; all of its, if None."""
        version = Version(Timestamp.now().internal,
                          self.random.randbytes(length), 'blue')
        self._change(nodes, 'PUT', name, version, version.body,
                     Content_Type='text/plain', X_Object_Meta_Color='blue')

    def post(self, name, nodes=None):
        version = replace(self.newest[name], color='red',
                          timestamp=Timestamp.now().internal)
        self._change(nodes, 'POST', name, version, X_Object_Meta_Color='red')

    def delete(self, name, nodes=None):
        version = Version(Timestamp.now().internal)
        self._change(nodes, 'DELETE', name, version)

    def change_some(self, names, without=()):
        """Put, post and delete objects in turn, but not on some devices."""
        for number, name in enumerate(names):
            nodes = [node for node in self.nodes(name)[1]
                     if node['device'] not in without]
            # Now and then one that has more than one block.
            change = (lambda: self.put(name, 100, nodes),
                      lambda: self.post(name, nodes),
                      lambda: self.delete(name, nodes),
                      lambda: self.put(name, 300000, nodes))[number % 4]
            change()

    def served(self, name, node):
        """:returns: the Version that a node serves; None: there is nothing"""
        answer = self.ask(node, 'GET', name)
        timestamp = answer.headers.get('x-backend-timestamp')
        if answer.status == 200:
            return Version(timestamp, answer.body,
                           answer.headers.get('x-object-meta-color'))
        if answer.status == 404:
            return timestamp and Version(timestamp)
        raise AssertionError('GET %s: %s' % (name, answer))

    def wrong(self, without=()):
        """:returns: (object, device) where it is not what was acknowledged"""
        return [(name, node['device']) for name in sorted(self.newest)
                for node in self.nodes(name)[1]
                if node['device'] not in without
                and self.served(name, node) != self.newest[name]]

    # What is in the volumes

    def layout(self, device):
        """:returns: the Layout of a device"""
        return Layout(self.cluster.device_path(
            self.cluster.node_of(device), device), int(self.policy))

    def index(self, device):
        """:returns: an IndexClient"""
        return IndexClient(self.layout(device).socket, PATIENCE)

    def files(self, name, device):
        """:returns: a dict of file names -> Location"""
        partition, _ = self.nodes(name)
        return dict(self.index(device).list_hash(
            partition, bytes.fromhex(self.hash_name(name))))

    def quarantined(self, device):
        """:returns: the hashes that a device has in quarantine"""
        return {object_hash.hex() for _, object_hash, _, _
                in self.index(device).list_quarantine()}

    def hand_offs(self):
        """:returns: (device, partition) of what the ring places elsewhere"""
        return [(device, partition) for device in self.devices()
                for partition in self.index(device).list_partitions()
                if device not in {
                    node['device']
                    for node in self.ring.get_part_nodes(partition)}]

    def flip_bit(self, location, device, at):
        """:param location: of a record
        :param at: which of its bytes
        """
        with open(self.layout(device).volume(location.volume), 'r+b',
                  buffering=0) as volume:
            value = os.pread(volume.fileno(), 1, location.offset + at)
            os.pwrite(volume.fileno(), bytes([value[0] ^ 4]),
                      location.offset + at)
