# SPDX-License-Identifier: Apache-2.0
"""Opens what is to be shipped, and reads the data of what is small."""

from swift.common.concurrency import Timeout
from swift.common.utils import close_if_possible

from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    MAX_PACK,
    MAX_SMALL,
    encoded,
)


class Truncated(Exception):
    """Data is shorter or longer than announced."""


class Outgoing:
    """
    A ``Work`` and what is to be sent of it.

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
        """
        Read all of the data.

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
