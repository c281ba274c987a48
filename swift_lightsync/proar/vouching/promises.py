# SPDX-License-Identifier: Apache-2.0
"""Until when a device has promised others to hold nothing that they miss.

PROTOCOL.md, "Vouching". Promises of an older or newer ring stand until they
end: under another ring other devices are primary roles.
"""

from swift_lightsync.proar.vouching.clock import now_ns
from swift_lightsync.proar.vouching.stamps import OtherBoot, Stamps
from swift_lightsync.proar.wire.messages import LONGEST

NS = 10 ** 9
#: by which a promise is longer than what the asker counts on
MARGIN = 1.05
#: the end of the last promise; the version of the ring of the promises; the
#: end of the last one of another ring; then those of each device
_LATEST, _RING, _OTHER, _FIRST = range(4)


class Promises:
    """The promises of one device, in one policy.

    :param path: of the file
    """

    def __init__(self, path):
        self._stamps = Stamps(path)

    def give(self, askers, ring, seconds):
        """Promise askers to hold nothing for them for some seconds from now.

        :param askers: ids of devices
        :param ring: version of the ring
        :param seconds: how long they count on it
        :returns: whether no promise of another ring stands any more: until
            then the device must not vouch
        :raises OSError: if the promise cannot be written
        """
        now = now_ns()
        until = now + int(seconds * MARGIN * NS)
        with self._stamps.locked() as stamps:
            _begin(stamps, ring, now)
            stamps.write(_LATEST, max(until, stamps.read(_LATEST)))
            for asker in askers:
                stamps.write(_FIRST + asker, max(
                    until, stamps.read(_FIRST + asker)))
            return stamps.read(_OTHER) <= now

    def stand_until(self, asker, ring):
        """Return until when a promise stands that must not be broken.

        :param asker: id of the device that might count on it; None: any
        :param ring: version of the ring in which it is the primary role
        :returns: two times in nanoseconds: of what can be told to the asker,
            and of what has to be waited for
        :raises OSError: if it cannot be told
        """
        try:
            latest, known, other = self._stamps.read(_LATEST, _RING, _OTHER)
            own, = self._stamps.read(_FIRST + asker) if asker is not None \
                else [0]
        except OtherBoot:
            with self._stamps.locked() as stamps:
                _begin(stamps, ring, now_ns())
            return self.stand_until(asker, ring)
        if latest and (known != ring or asker is None):
            return 0, latest
        return own, other


def _begin(stamps, ring, now):
    """Have the file be of this boot and this ring."""
    if stamps.is_of_other_boot:
        # A promise of before may stand yet.
        stamps.write(_OTHER, now + int(LONGEST * NS))
        stamps.write(_RING, ring)
        stamps.is_of_other_boot = False
    elif stamps.read(_RING) != ring:
        stamps.write(_OTHER, max(stamps.read(_OTHER), stamps.read(_LATEST)))
        stamps.write(_RING, ring)
