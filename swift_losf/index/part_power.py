# SPDX-License-Identifier: Apache-2.0
"""
The part power of the ring, as an index knows it: its entry `s` `part_power`.

FORMAT.md, "The part power". It may change while the index is served: then
partitions are others from one call to the next, and their directories follow
in the background (upkeep/partitions.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from swift_losf.format import keys
from swift_losf.format.header import RecordHeader
from swift_losf.format.keys import suffix_of
from swift_losf.format.partition_view import PartitionView
from swift_losf.format.values import pack_varints, unpack_varints
from swift_losf.index.call_arguments import check_range

KEY = keys.STATE + b'part_power'
MAX_POWER = 32


@dataclass(frozen=True)
class _Stored:
    """What the entry has.

    :param keyed: the part power that the keys follow from
    :param power: the part power of the ring
    :param tidied: the one that the directories of partitions are of; 0: it is
        not known
    """
    keyed: int
    power: int
    tidied: int


def unpack(value: bytes) -> list[int]:
    """Read the entry.

    :raises FormatError: if it is none
    """
    return unpack_varints(value, 3, 'part power')


class PartPower:
    """Tells where the hashes of an index are, by the part power of the ring.

    :param db: a Database
    """

    def __init__(self, db: Any) -> None:
        self._db = db
        self._stored: _Stored | None = None
        self.view = PartitionView()
        #: called with a partition and numbers of suffixes, where a file is
        #: changed that its caller takes to be of another partition
        self.invalidate: Callable[..., None] = lambda partition, suffixes: None
        self.load()

    def load(self) -> None:
        """Go by what is stored.

        :raises FormatError: if that is no part power
        """
        stored = self._db.get(KEY)
        if stored is not None:
            self._use(_Stored(*unpack(stored)))

    def set(self, power: int | None) -> None:
        """Take over the part power of the ring, durably.

        :param power: None: it is not known, and stays what it was
        :raises InvalidArgument: if it is none that a ring can have
        """
        if power is None:
            return
        check_range('part power', power, 0, MAX_POWER)
        # What was made anew may stand beside directories of another one.
        tidied = 0 if self._db.is_unfinished else power
        self._change(lambda before: replace(before, power=power) if before
                     else _Stored(power, power, tidied))

    @property
    def is_tidy(self) -> bool:
        """Whether the directories of partitions are those of the ring."""
        return self._stored is None or (
            self._stored.tidied == self._stored.power)

    @property
    def tidied(self) -> int:
        """The part power that all is by, directories too; 0: none."""
        return self._stored.power if self._stored and self.is_tidy else 0

    def note_tidied(self, power: int | None) -> None:
        """Note that the directories are those of a part power."""
        if power is not None:
            self._change(lambda before: before and replace(
                before, tidied=power))

    def _change(self, changed: Callable[[_Stored | None],
                                        _Stored | None]) -> None:
        with self._db.change() as change:
            # Here, and not before: nobody else changes it meanwhile.
            stored = changed(self._stored)
            if stored is None or stored == self._stored:
                return
            change.put(KEY, pack_varints(vars(stored).values()))
            self._use(stored)
        # Keys that are not of the power that is stored would not be found.
        if self._db.durable:
            self._db.sync()

    def _use(self, stored: _Stored) -> None:
        self._stored = stored
        self.view = PartitionView(stored.keyed, stored.power)

    def key_partition(self, partition: int, hash_: bytes) -> int:
        """Return what stands for the partition in the keys of a hash.

        :param partition: that the caller takes it to be in
        """
        return self.view.group(partition, hash_)

    def key_partition_of(self, header: RecordHeader) -> int:
        """Return what stands for the partition in the keys of a record.

        It follows from the hash; the header tells only where no part power
        is known.
        """
        return self.view.group(header.partition, header.hash)

    def note_change(self, partition: int, hash_: bytes) -> None:
        """Note, in a change, that files of a hash are changed.

        The caller has invalidated the suffix in the partition that it knows.
        If the ring has become another one, so it is here where the file is.

        :param partition: that the caller takes the hash to be in
        """
        actual = self.view.partition(partition, hash_)
        if actual != partition:
            self.invalidate(actual, [suffix_of(hash_)])
