# SPDX-License-Identifier: Apache-2.0
"""Partitions in memory that play sync rounds with the production core.

A replica is a dict, suffix to version; its suffix hashes are derived from it.
Nothing of the protocol is written again here: roots, rings and rounds are the
product's.
"""

from swift_lightsync.sync.core import merkle, replica_ring
from swift_lightsync.sync.core.sync_round import Answer, Check, sync_round

#: The number of the one partition: one for which a ring of five devices of one
#: region stands in the order of their ids, as the paper draws it.
PARTITION = next(
    partition for partition in range(10000)
    if [node['id'] for node in replica_ring.replica_ring(
        [{'id': number, 'region': 1} for number in range(5)], partition)]
    == list(range(5)))


def devices(regions):
    """Ring devices, one a region given."""
    return [{'id': number, 'region': region}
            for number, region in enumerate(regions)]


class Replicas:
    """The replicas of one partition.

    :param regions: the region of each device, in row order
    :param silent: ids of devices that do not answer
    :param idle: ids of devices that answer, but play no rounds
    """

    def __init__(self, regions, silent=(), idle=()):
        self.devices = devices(regions)
        self.contents = {device['id']: {} for device in self.devices}
        self.silent = set(silent)
        self.idle = set(idle)
        self.messages = []
        self.pushes = []

    def write(self, suffix, version, holders):
        for holder in holders:
            self.contents[holder][suffix] = version

    def root(self, device_id):
        return merkle.root({suffix: str(version) for suffix, version
                            in self.contents[device_id].items()})

    def play(self, device_id, has_failed=lambda device: False, **kwargs):
        """Let one device play its part of a round."""
        clockwise = replica_ring.clockwise(self.devices, PARTITION, device_id)
        actions = sync_round(clockwise, has_failed, **kwargs)
        outcome = None
        try:
            while True:
                action = actions.send(outcome)
                if isinstance(action, Check):
                    outcome = self._check(device_id, action.device['id'])
                else:
                    outcome = all([self._push(device_id, device['id'])
                                   for device in action.devices])
        except StopIteration:
            pass

    def round(self, order, **kwargs):
        """Let each device play its part, one after the other."""
        for device_id in order:
            if device_id not in self.silent | self.idle:
                self.play(device_id, **kwargs)

    def rounds_until_equal(self, order, most, **kwargs):
        for number in range(most + 1):
            if self.are_equal():
                return number
            self.round(order, **kwargs)
        raise AssertionError('not equal after %d rounds: %r'
                             % (most, self.contents))

    def are_equal(self):
        return len({self.root(device['id']) for device in self.devices
                    if device['id'] not in self.silent}) == 1

    def _check(self, sender, receiver):
        self.messages.append((sender, receiver))
        if receiver in self.silent:
            return Answer.TIMEOUT
        if self.root(sender) == self.root(receiver):
            return Answer.MATCH
        return Answer.DIFFER

    def _push(self, sender, receiver):
        held = self.contents[receiver]
        for suffix, version in self.contents[sender].items():
            if held.get(suffix, version) != version or suffix not in held:
                self.pushes.append((sender, receiver, suffix))
                held[suffix] = max(version, held.get(suffix, version))
        return True
