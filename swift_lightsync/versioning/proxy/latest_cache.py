# SPDX-License-Identifier: Apache-2.0
"""
Which version of an object is the latest, in memcache (VERSIONING.md §4).

It is a hint: the data of that version are asked for beside the rows, which
say whether it was right. Or it is taken for the truth: what was read is kept
with the generation of the object that was current before it was read, and is
good for as long as this is the generation. Each write makes a new one after
its rows are durable and before it is acknowledged: so it is at least as new
as all that was acknowledged before, as long as memcache loses none of this.
"""

import time
from dataclasses import dataclass, replace
from typing import Optional

from swift.common.memcached import MemcacheConnectionError

from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version


@dataclass(frozen=True)
class Hint:
    """
    What memcache says of an object.

    :param known: whether it says which version is the latest
    :param entry: that ``Entry``, with no more than it takes to find its
        data, or None
    :param is_sure: whether it need not be asked of the rows
    :param generation: of the object, or None
    """
    known: bool = False
    entry: Optional[Entry] = None
    is_sure: bool = False
    generation: Optional[int] = None

    def is_right(self, entry):
        """
        :param entry: the latest, as the rows say
        """
        return self.known and _packed(self.entry) == _packed(entry)


#: Where nothing is known.
NO_HINT = Hint()


class LatestCache:
    """
    :param memcache: a ``MemcacheRing``, or None
    :param account: text
    :param container: text, the user's
    :param hint_seconds: that a hint is kept; 0: there are none
    :param sure_seconds: that what was read is taken for the truth; 0: never
    """

    def __init__(self, memcache, account, container, hint_seconds,
                 sure_seconds):
        self.memcache = memcache if hint_seconds or sure_seconds else None
        self.path = '%s/%s/' % (account, container)
        self.hint_seconds = hint_seconds
        self.sure_seconds = sure_seconds

    def hint(self, obj):
        """
        :param obj: the object's name, text
        :returns: a ``Hint``; give it to ``keep`` with what is read now
        """
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
        is_sure = generation is not None and before == generation
        return Hint(True, entry, is_sure) if is_sure or self.hint_seconds \
            else NO_HINT

    def keep(self, obj, entry, hint=NO_HINT):
        """
        :param entry: the latest ``Entry`` or None, as the rows said after
            the hint was had; without one, what was just written
        """
        if self.memcache is None or hint.generation is None and (
                not self.hint_seconds or hint.is_right(entry)):
            return
        self.memcache.set_multi(
            {self._value_key(obj): (hint.generation, _packed(entry))},
            self._generation_key(obj),
            time=max(self.hint_seconds, self.sure_seconds))

    def forget(self, obj):
        """
        Nothing that was read before is the truth: to be called after each
        write, before it is acknowledged.
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
        """Return one that never was, or None if memcache is not there."""
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
    """Return what finds the data of an ``Entry``, for JSON."""
    return entry and (str(entry.version.id), entry.version.site,
                      entry.version.deleted, entry.plain)


def _entry(obj, packed):
    if packed is None:
        return None
    stamp, site, deleted, plain = packed
    return Entry(obj, Version(Stamp.parse(stamp), site, Vector(), deleted),
                 plain=plain)
