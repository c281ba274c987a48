# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
Which version of an object is the latest, in memcache (VERSIONING.md §4).

What was read is kept with the generation of the object that was current
before it was read, and is good for as long as this is the generation. Each
write makes a new one after its rows are durable and before it is
acknowledged: so what is found in memcache is at least as new as all that
was acknowledged before, as long as memcache loses none of this.
"""

import time

from swift.common.memcached import MemcacheConnectionError

from swift_lightsync.versioning.rowdata import Entry
from swift_lightsync.versioning.stamp import Stamp
from swift_lightsync.versioning.version import Vector, Version


class LatestCache:
    """
    :param memcache: a ``MemcacheRing``, or None
    :param account: text
    :param container: text, the user's
    :param seconds: that an answer is kept; 0: never
    """

    def __init__(self, memcache, account, container, seconds):
        self.memcache = memcache if seconds else None
        self.prefix = 'site-versions/%s/%s/' % (account, container)
        self.seconds = seconds

    def get(self, obj, read):
        """
        :param obj: the object's name, text
        :param read: a function of the name that reads the latest ``Entry``,
            or None, from the rows
        :returns: that ``Entry``; if it was found in memcache, with no more
            than it takes to find its data
        """
        if self.memcache is None:
            return read(obj)
        key = self.prefix + obj
        generation, held = self._held(key)
        if held and held[0] == generation:
            return _entry(obj, held[1])
        if generation is None:
            generation = self._new_generation(key)
        entry = read(obj)
        if generation is not None:
            self.memcache.set_multi(
                {self._value_key(key): (generation, _packed(entry))}, key,
                time=self.seconds)
        return entry

    def forget(self, obj):
        """To be called after each write, before it is acknowledged."""
        if self.memcache is not None:
            self._new_generation(self.prefix + obj)

    def _held(self, key):
        """:returns: (the generation or None, what is held or None)"""
        found = self.memcache.get_multi([key, self._value_key(key)], key)
        generation, held = found or (None, None)
        return generation and int(generation), held

    def _new_generation(self, key):
        """:returns: one that never was, or None if memcache is not there"""
        try:
            # Where none is held, the step is the first: hence the time.
            return self.memcache.incr(key, int(time.time() * 1e6),
                                      time=self.seconds)
        except MemcacheConnectionError:
            return None

    @staticmethod
    def _value_key(key):
        return key + '/latest'


def _packed(entry):
    """:returns: what finds the data of an ``Entry``, for JSON"""
    return entry and (str(entry.version.id), entry.version.site,
                      entry.version.deleted, entry.plain)


def _entry(obj, packed):
    if packed is None:
        return None
    stamp, site, deleted, plain = packed
    return Entry(obj, Version(Stamp.parse(stamp), site, Vector(), deleted),
                 plain=plain)
