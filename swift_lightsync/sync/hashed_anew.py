# SPDX-License-Identifier: Apache-2.0
"""Hashes what is on the disk, whatever hashes.pkl says of it.

A hand-off is removed because of what other devices have: of that, and of
itself, nothing is taken on trust. PROTOCOL.md, "Hand-offs".
"""

import os
import time
from typing import Any

from swift.common.storage_policy import StoragePolicy
from swift.obj.diskfile import get_part_path, read_hashes, valid_suffix

#: Seconds for which a partition that was hashed anew is not once more.
LATELY = 300


def suffixes_in(df_mgr: Any, path: str) -> set[str]:
    """Return the suffixes of a partition that exist.

    :param df_mgr: a diskfile manager of Swift
    :param path: of the partition
    :raises FileNotFoundError: if the partition does not exist
    """
    # An unpatched Swift has no method for it.
    list_dir = getattr(df_mgr, 'list_dir', os.listdir)
    return {name for name in list_dir(path) if valid_suffix(name)}


class HashedAnew:
    """The partitions of a policy that were hashed anew lately.

    :param df_mgr: a diskfile manager of Swift
    :param policy: the StoragePolicy of its partitions
    """

    def __init__(self, df_mgr: Any, policy: StoragePolicy) -> None:
        self.df_mgr = df_mgr
        self.policy = policy
        #: When that was begun, by device and partition.
        self._done: dict[tuple[str, int], float] = {}
        self._pruned = time.monotonic()

    def ensure(self, dev_path: str, device: str,
               partition: int | str) -> int:
        """Hash all of a partition, if that was not done lately.

        :param dev_path: where the device is mounted
        :param device: its name
        :param partition: a partition, which need not exist
        :returns: how many suffixes were hashed
        """
        now, key = time.monotonic(), (device, int(partition))
        if now - self._pruned > LATELY:
            self._pruned = now
            self._done = {each: begun for each, begun
                          in list(self._done.items()) if now - begun < LATELY}
        if now - self._done.get(key, now - LATELY) < LATELY:
            return 0
        path = get_part_path(dev_path, self.policy, partition)
        try:
            suffixes = suffixes_in(self.df_mgr, path)
        except FileNotFoundError:
            return 0
        hashed: int = self.df_mgr._get_hashes(
            device, partition, self.policy, recalculate=sorted(
                suffixes.union(filter(valid_suffix, read_hashes(path)))))[0]
        self._done[key] = now
        return hashed
