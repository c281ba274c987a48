# SPDX-License-Identifier: Apache-2.0
"""How a device stands with its peers: written by its converger, read by its
object-servers for each read. PROTOCOL.md, "Vouching".
"""

import os
import struct
import zlib

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.core.standing import Standing
from swift_lightsync.proar.names import MISSED, STANDING, roles_path
from swift_lightsync.proar.vouching.clock import boot_id, now_ns
from swift_lightsync.proar.vouching.losses import last_loss, make_quarantine
from swift_lightsync.proar.vouching.stamps import OtherBoot, Stamps, opened
from swift_lightsync.proar.wire.messages import MAX_BYTES

#: length and CRC-32 of what follows
_HEAD = struct.Struct('<LL')
#: All places share so many times: one that is missed has others wait, too.
#: The next one is the last of them.
PLACES = 1021


class Standings:
    """What the processes of one device know of its standing, in one policy.

    :param device_path: of the device
    :param policy: the storage policy
    """

    def __init__(self, device_path, policy):
        self._device_path = device_path
        self._policy = policy
        self._path = roles_path(device_path, policy, STANDING)
        self._missed = Stamps(roles_path(device_path, policy, MISSED))
        self._head = b''
        self._known = None

    def write(self, standing):
        """Replace the standing, without syncing it.

        It is written in place: to replace the file each second would have
        some file systems flush it each second. One process writes it.

        :raises OSError: if it cannot be written
        """
        content = standing.encode()
        head = _HEAD.pack(len(content), zlib.crc32(content))
        with opened(self._path, os.O_WRONLY | os.O_CREAT) as file:
            os.pwrite(file, head + content, 0)
        self._head, self._known = head, standing

    def filled_after(self, standing, began, answers):
        """Return a Standing with how far the device was filled.

        :param began: when the round of questions began, nanoseconds
        :param answers: id of a peer -> what it has Told
        """
        loss = last_loss(self._device_path, self._policy)
        if not loss:
            make_quarantine(self._device_path, self._policy)
        return standing.filled_after(began, answers, self._stored(), loss)

    def read(self):
        """Return the Standing; None if there is none of this boot.

        An older one may be returned: what counts in it still counts.
        """
        known = self._stored()
        return known if known and known.boot == boot_id() else None

    def _stored(self):
        try:
            with opened(self._path, os.O_RDONLY) as file:
                head = os.pread(file, _HEAD.size, 0)
                if head == self._head:
                    return self._known
                length, crc = _HEAD.unpack(head)
                content = os.pread(file, min(length, MAX_BYTES), _HEAD.size)
        except (OSError, struct.error):
            return None
        if len(content) != length or zlib.crc32(content) != crc:
            return None  # is being written
        try:
            standing = Standing.parse(content, MAX_BYTES)
        except RecordError:
            return None
        # In this order: another thread finds no older one by the new head.
        self._known, self._head = standing, head
        return standing

    def miss(self, place):
        """Note that the device misses a write.

        :param place: its partition and slot
        :raises OSError: if that cannot be noted
        """
        with self._missed.locked() as stamps:
            now = now_ns()
            stamps.write(_index(place), now)
            stamps.write(PLACES, now)

    def last_missed(self):
        """Return when the device was last told that it misses a write, or 0.
        """
        try:
            return self._missed.read(PLACES)[0]
        except (OtherBoot, OSError):
            return 0

    def obstacle(self, standing, ring, place, peers):
        """Return why the device cannot answer a read alone, or ''.

        :param standing: its Standing, which was read by the same request
        :param ring: version of the object ring
        :param place: partition and slot
        :param peers: ids of the other roles
        """
        if standing.ring != ring:
            return 'its converger has ring %d' % standing.ring
        try:
            missed = self._when_missed(place)
        except OSError as err:
            return str(err)
        return standing.obstacle(now_ns(), place, peers, missed)

    def doubters(self, standing, place, devices, takers):
        """Return the devices that may know of a write which this one misses.

        :param standing: its Standing, which was read by the same request
        :param place: partition and slot
        :param devices: ids of all other devices of the ring
        :param takers: ids of those that take its writes
        :returns: ids; None if any device may
        """
        try:
            return standing.doubters(now_ns(), place, devices, takers,
                                     self._when_missed(place))
        except OSError:
            return None

    def _when_missed(self, place):
        try:
            return self._missed.read(_index(place))[0]
        except OtherBoot:
            return 0


def _index(place):
    partition, slot = place
    return (partition * 256 + slot) % PLACES
