# SPDX-License-Identifier: Apache-2.0
"""Lists what is in quarantine, and empties it.

A file in quarantine keeps its record, so that one can look at it. To purge it
is to turn its `q` entry into a `d` entry: the index server gives the space
back, as it does with that of a removed file. FORMAT.md, "Removing a file".
"""

import math
import re
from dataclasses import dataclass

from swift_losf.format import keys

_TIMESTAMP = re.compile(r'[0-9]{10}\.[0-9]{5}')


@dataclass(frozen=True)
class Wanted:
    """Which files in quarantine are meant: all, by default.

    :param hash: of the object's name, 16 bytes; None: of any
    :param before: Unix time, s: the timestamp in the file's name is older;
        when a file was put into quarantine, nothing tells
    """
    hash: bytes | None = None
    before: float = math.inf

    def has(self, hash_, name):
        """Return whether a file is meant.

        :param hash_: of a file
        :param name: of the file
        """
        if self.hash not in (None, hash_):
            return False
        timestamp = _TIMESTAMP.match(name)
        return self.before == math.inf or bool(
            timestamp and float(timestamp.group()) < self.before)


def purge(index, wanted):
    """Take files out of quarantine for good, durably.

    :param index: an Index, which nobody else uses
    :param wanted: a Wanted
    """
    after, more = b'', True
    while more:
        page, after = index.reader.list_quarantine(after)
        with index.db.change() as change:
            for partition, hash_, name, location in page:
                if wanted.has(hash_, name):
                    change.remove_quarantined(keys.quarantine_key(
                        index.part_power.key_partition(partition, hash_),
                        hash_, name, location), location)
                    change.reclaim(location)
        more = bool(after)
    index.sync()
