# SPDX-License-Identifier: Apache-2.0
"""Opens what is to be shipped, and reads the data of what is small, once for
all sites that it goes to.
"""

from collections import OrderedDict
from copy import copy

from swift.common.concurrency import Event, Timeout
from swift.common.utils import close_if_possible

from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    MAX_PACK,
    MAX_SMALL,
    encoded,
)

#: Bytes of small versions that are kept until the last site has got them.
MOST_BYTES = 1 << 24


class Truncated(Exception):
    """Data is shorter or longer than announced."""


class Outgoing:
    """A ``Work`` and what is to be sent of it.

    :param source: ``LocalData``
    :raises DataMissing: if its data cannot be read
    """

    def __init__(self, source, work):
        self.work = work
        #: A ``Shipment``, and its data: an iterable, then perhaps bytes.
        self.shipment, self.data = source.open(work.database, work.item)
        work.size = self.shipment.length
        try:
            #: JSON of its ``Frame``.
            self.frame = encoded(self.shipment.to_frame().to_json())
        except BaseException:
            self.close()
            raise
        # What weighs less than MAX_PACK has a head below MAX_HEAD.
        self.weight = max(self.shipment.length, (MAX_PACK // MAX_HEAD + 1) *
                          len(self.frame))

    @property
    def is_small(self):
        return self.shipment.length <= MAX_SMALL

    def read(self):
        """Read all of the data.

        :raises Truncated: if it ends too early
        """
        length = self.shipment.length
        try:
            data = b''.join(self.data)
        except (Exception, Timeout) as err:
            raise Truncated('its data cannot be read: %s' % err) from err
        finally:
            self.close()
        if len(data) != length:
            raise Truncated('%d bytes of data, must be %d' % (len(data),
                                                              length))
        self.data = data

    def close(self):
        close_if_possible(self.data)


class Reader:
    """Reads what is small once for all sites. What is changed has a row with
    another stamp: what was read holds for all that have this one.

    :param source: ``LocalData``
    :param sites: how many other sites there are
    """

    def __init__(self, source, sites):
        self._source = source
        self._sites = sites
        #: By container, name and stamp of the row: an ``Event`` at the end of
        #: a read that is under way; the ``Outgoing``, and how many sites are
        #: still to get it.
        self._reading = {}
        self._read = OrderedDict()
        self._bytes = 0

    def open(self, work, keep=False):
        """Open what a ``Work`` is about.

        :param keep: whether large data is left open, to be sent as it is read
        :returns: an ``Outgoing``, with its data if these are small
        :raises DataMissing: if it cannot be read
        :raises Truncated: if it is shorter than announced
        """
        row = work.item.row
        key = work.database.account, work.database.container, row.name, \
            row.stamp
        while key in self._reading:
            self._reading[key].wait()
        if key in self._read:
            return self._taken(key, work)
        ended = self._reading[key] = Event()
        try:
            found = self._opened(work, keep)
        finally:
            del self._reading[key]
            ended.send()
        if found.is_small:
            self._keep(key, found, self._sites - 1)
        return found

    def _taken(self, key, work):
        found, left = self._read.pop(key)
        self._bytes -= found.weight
        self._keep(key, found, left - 1)
        found = copy(found)
        found.work = work
        work.size = found.shipment.length
        return found

    def _keep(self, key, found, left):
        if left:
            self._read[key] = found, left
            self._bytes += found.weight
        while self._bytes > MOST_BYTES:
            _, (first, _) = self._read.popitem(last=False)
            self._bytes -= first.weight

    def _opened(self, work, keep):
        found = Outgoing(self._source, work)
        if found.is_small:
            found.read()
        elif not keep:
            found.close()
        return found
