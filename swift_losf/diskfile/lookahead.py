# SPDX-License-Identifier: Apache-2.0
"""Lists many suffixes of a partition with few calls of the index."""

#: most hashes of the second call; each that follows may have FACTOR times as
#: many
FIRST_LIMIT = 64
FACTOR = 8
MAX_LIMIT = 4096


class Lookahead:
    """Lists suffixes that are asked for in their order.

    The first is listed alone; the more follow, the more are listed at a time.
    A listing may be as old as the Lookahead, but no older. A suffix that is
    not behind the one before is listed anew.

    :param store: a Store
    :param partition: a number
    """

    def __init__(self, store, partition):
        self._store = store
        self._partition = partition
        self._limit = 0
        self._suffixes = {}
        # What is known: from the first to below the end.
        self._first = self._end = 0

    def files(self, suffix):
        """Return the files of a suffix: a dict of hash to file names.

        :param suffix: three hexadecimal digits
        """
        number = int(suffix, 16)
        if not self._first <= number < self._end:
            self._fetch(suffix)
        self._first = number + 1
        return self._suffixes.pop(suffix, {})

    def _fetch(self, suffix):
        self._end = 0
        if self._limit:
            self._suffixes, self._end = self._store.list_onward(
                self._partition, suffix, self._limit)
        self._limit = min(self._limit * FACTOR or FIRST_LIMIT, MAX_LIMIT)
        if self._end <= int(suffix, 16):
            self._suffixes = {suffix: dict(self._store.list_suffix(
                self._partition, suffix))}
            self._end = int(suffix, 16) + 1
