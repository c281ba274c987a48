# SPDX-License-Identifier: Apache-2.0
"""Makes a diskfile manager of Swift enter in the journal what it changes.

PROTOCOL.md, "What is kept between passes".
"""

import inspect
import os
import struct
from logging import Logger
from typing import Any

from swift.common.storage_policy import EC_POLICY, POLICIES

from swift_lightsync.sync import journal
from swift_lightsync.sync.journal import Writers


class Journaling:
    """Wraps the methods of diskfile managers that change suffix hashes.

    :param router: Swift's DiskFileRouter of the process
    :param writers: the mark for entries that are lost
    :param logger: where they are logged
    """

    def __init__(self, router: Any, writers: Writers,
                 logger: Logger) -> None:
        self.writers = writers
        self.logger = logger
        writers.touch()
        for policy in POLICIES:
            # Partitions of EC policies are the reconstructor's.
            if policy.policy_type != EC_POLICY:
                self._wrap(router[policy], int(policy))

    def enter(self, device_path: str, policy: int, partition: str) -> None:
        """Enter a partition; whoever changed it does not hear of errors."""
        if not partition.isdecimal():
            # It is no partition that any ring names.
            return
        try:
            journal.enter(device_path, policy, int(partition))
        except (OSError, struct.error) as err:
            self.logger.warning(
                'Unable to enter partition %s in the journal of %s: %s',
                partition, device_path, err)
            self.writers.touch()

    def _wrap(self, manager: Any, policy: int) -> None:
        def invalidate_hash(suffix_dir: str) -> None:
            try:
                _stock(manager, 'invalidate_hash')(suffix_dir)
            finally:
                partition_dir = os.path.dirname(suffix_dir)
                self.enter(os.path.dirname(os.path.dirname(partition_dir)),
                           policy, os.path.basename(partition_dir))

        def _get_hashes(device: str, partition: Any, of_policy: Any,
                        recalculate: list[str] | None = None,
                        **options: Any) -> Any:
            hashed, hashes = _stock(manager, '_get_hashes')(
                device, partition, of_policy, recalculate=recalculate,
                **options)
            # Reclaimed tombstones change a suffix that nobody invalidated.
            if hashed or recalculate:
                self.enter(manager.construct_dev_path(device), policy,
                           str(partition))
            return hashed, hashes

        manager.invalidate_hash = invalidate_hash
        manager._get_hashes = _get_hashes
        for name in ('quarantine_renamer', 'quarantine_dir_renamer'):
            setattr(manager, name, self._quarantining(manager, name, policy))

    def _quarantining(self, manager: Any, name: str, policy: int) -> Any:
        def rename(device_path: str, path: str) -> Any:
            try:
                return _stock(manager, name)(device_path, path)
            finally:
                # objects/<partition>/<suffix>/…
                parts = os.path.relpath(path, device_path).split(os.sep)
                self.enter(device_path, policy, parts[1])
        return rename


def _stock(manager: Any, name: str) -> Any:
    """Return the method that a manager's class has, as it is now."""
    found = inspect.getattr_static(type(manager), name)
    bind = getattr(found, '__get__', None)
    return bind(manager, type(manager)) if bind else found
