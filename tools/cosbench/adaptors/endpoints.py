# SPDX-License-Identifier: Apache-2.0
"""A storage that is asked at several addresses, which take turns."""

from cosbench.adaptors.base import Storage


class Endpoints(Storage):
    """
    Opens and closes the storages of all endpoints; workers ask each.

    :param storages: a ``Storage`` for each endpoint
    """

    def __init__(self, storages):
        self._storages = self.endpoints = tuple(storages)

    @property
    def resent(self):  # type: ignore[override]
        return sum(int(each.resent) for each in self._storages)

    async def open(self):
        for each in self._storages:
            await each.open()

    async def close(self):
        for each in self._storages:
            await each.close()
