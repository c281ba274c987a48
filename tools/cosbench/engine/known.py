# SPDX-License-Identifier: Apache-2.0
"""What a mission knows of the objects of its storage.

Which versions an object has, and how long it is, is asked for when an
operation first needs it; that request is not part of the operation. What
other drivers do to the same objects meanwhile is not seen: operations that
change objects want ``division=object``.
"""

from collections import OrderedDict

from cosbench.adaptors.base import OperationError
from cosbench.workload.requests import Version

#: Objects that are remembered, those that were used last.
MAX_KNOWN = 100000


class _Memory(OrderedDict):
    """A dict that forgets what was not used for long."""

    def remember(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > MAX_KNOWN:
            self.popitem(last=False)


class Known:
    """Belongs to a mission, all of whose workers share it."""

    def __init__(self):
        #: (container, object) -> ids, the latest first; bytes.
        self._versions = _Memory()
        self._lengths = _Memory()

    async def version(self, storage, place, which, rng):
        """Return the id of a version of an object.

        :param storage: is asked where nothing is known
        :param place: container and name of the object
        :param which: a ``Version``
        :param rng: the worker's random generator
        :raises OperationError: if the object has no version
        """
        ids = await self._ids(storage, place)
        return ids[_index(ids, which, rng)]

    async def taken(self, storage, place, which, rng):
        """Return an id as ``version``, once: it is to be deleted."""
        ids = await self._ids(storage, place)
        return ids.pop(_index(ids, which, rng))

    async def _ids(self, storage, place):
        if not self._versions.get(place):
            ids = await storage.versions(*place)
            if not ids:
                raise OperationError('http 404', '%s/%s has no version'
                                     % place)
            # Others may have asked, and taken some, meanwhile.
            if not self._versions.get(place):
                self._versions.remember(place, list(ids))
        return self._versions[place]

    async def length(self, storage, place):
        """Return how many bytes an object has; 0 if there is none."""
        found = self._lengths.get(place)
        if found is None:
            found = await storage.length(*place) or 0
        return found

    def written(self, place, length):
        """Take notice of how long an object is now.

        :param place: container and name of the object
        :param length: bytes; None: nobody knows
        """
        if length is None:
            self._lengths.pop(place, None)
        else:
            self._lengths.remember(place, length)


def _index(ids, which, rng):
    if which is Version.RANDOM:
        return rng.randrange(len(ids))
    return 0 if which is Version.LATEST else -1
