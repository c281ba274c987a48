# SPDX-License-Identifier: Apache-2.0
"""A cache in memcache: which version of an object is the latest (VERSIONING.md
§4).

The cache works as a hint or as the truth. As a hint, it lets a read ask for
the data of that version and for the rows at the same time; the rows then say
whether the hint was right. As the truth, it replaces the rows: an entry is
stored with the generation that the object had before its rows were read, and
is valid as long as the object has this generation. Each write starts a new
generation after its rows are durable and before it is acknowledged. A valid
entry is therefore at least as new as everything acknowledged before, as long
as memcache loses none of this.

A hint may be wrong. So a process remembers for a few seconds what it has read
or written itself, and does not ask memcache meanwhile.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass, replace

from swift.common.memcached import MemcacheConnectionError

from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version

#: Seconds for which a process remembers a hint itself, and how many.
NEAR_SECONDS = 10
NEAR = 4096


@dataclass(frozen=True)
class Hint:
    """What memcache knows about an object.

    :param known: whether memcache names the latest version
    :param entry: its ``Entry``, with only the fields that find its data, or
        None if there is none
    :param is_sure: whether a read may trust it without asking the rows
    :param generation: of the object, or None
    """
    known: bool = False
    entry: Entry | None = None
    is_sure: bool = False
    generation: int | None = None

    def is_right(self, entry):
        """Check whether the hint names the version that the rows name.

        :param entry: the latest ``Entry`` according to the rows
        """
        return self.known and _packed(self.entry) == _packed(entry)


#: Where nothing is known.
NO_HINT = Hint()


class LatestCache:
    """Remembers the latest versions of one container's objects in memcache.

    :param memcache: a ``MemcacheRing``, or None
    :param account: text
    :param container: text, the user's
    :param hint_seconds: how long a hint is kept; 0: there are no hints
    :param sure_seconds: how long reads trust an entry; 0: never
    :param near: what this process remembers itself, of all containers
    """

    def __init__(self, memcache, account, container, hint_seconds,
                 sure_seconds, near=None):
        self._near = OrderedDict() if near is None else near
        self.memcache = memcache if hint_seconds or sure_seconds else None
        self.path = '%s/%s/' % (account, container)
        self.hint_seconds = hint_seconds
        self.sure_seconds = sure_seconds

    def hint(self, obj):
        """Look an object up.

        :param obj: the object's name, text
        :returns: a ``Hint``; pass it to ``keep`` with the entry that is read
            next
        """
        until, near = self._near.get(self.path + obj, (0, NO_HINT))
        if until > time.monotonic():
            return near
        if self.memcache is None:
            return NO_HINT
        generation, stored = self._stored(self.memcache, obj)
        found = self._hint_of(obj, generation, stored)
        if generation is None and self.sure_seconds:
            generation = self._new_generation(self.memcache, obj)
        return replace(found, generation=generation)

    def _hint_of(self, obj, generation, stored):
        try:
            before, packed = stored
            entry = _entry(obj, packed)
        except (TypeError, ValueError):
            return NO_HINT
        # An object that is older than versioning is adopted by daemons, too.
        is_sure = generation is not None and before == generation and \
            entry is not None
        return Hint(True, entry, is_sure) if is_sure or self.hint_seconds \
            else NO_HINT

    def keep(self, obj, entry, hint=NO_HINT):
        """Store the latest version of an object.

        :param entry: the latest ``Entry`` or None: with a hint, as the rows
            told after the hint was read; without one, as just written
        """
        if self.hint_seconds and not self.sure_seconds:
            self._near[self.path + obj] = (
                time.monotonic() + NEAR_SECONDS, Hint(True, entry))
            if len(self._near) > NEAR:
                self._near.popitem(last=False)
        if self.memcache is None or hint.generation is None and (
                not self.hint_seconds or hint.is_right(entry)):
            return
        self.memcache.set_multi(
            {self._value_key(obj): (hint.generation, _packed(entry))},
            self._generation_key(obj),
            time=max(self.hint_seconds, self.sure_seconds))

    def forget(self, obj):
        """Make everything that was read before untrusted. To be called after
        each write, before it is acknowledged.
        """
        if self.memcache is not None and self.sure_seconds:
            self._new_generation(self.memcache, obj)

    def _stored(self, memcache, obj):
        """Return (the generation or None, the stored value or None)."""
        keys = [self._value_key(obj)]
        if self.sure_seconds:
            keys.append(self._generation_key(obj))
        stored, *generation = memcache.get_multi(
            keys, self._generation_key(obj)) or [None]
        return next((int(each) for each in generation if each), None), stored

    def _new_generation(self, memcache, obj):
        """Return a generation never used before, or None if memcache is down.
        """
        try:
            # If memcache has none, the step becomes the value: hence the time.
            return memcache.incr(
                self._generation_key(obj), int(time.time() * 1e6),
                time=self.sure_seconds)
        except MemcacheConnectionError:
            return None

    def _generation_key(self, obj):
        return 'site-versions/' + self.path + obj

    def _value_key(self, obj):
        return 'site-versions-latest/' + self.path + obj


def _packed(entry):
    """Return the fields of an ``Entry`` that find its data, for JSON."""
    return entry and (str(entry.version.id), entry.version.site,
                      entry.version.deleted, entry.null)


def _entry(obj, packed):
    if packed is None:
        return None
    stamp, site, deleted, null = packed
    return Entry(obj, Version(Stamp.parse(stamp), site, Vector(), deleted),
                 null=null)
