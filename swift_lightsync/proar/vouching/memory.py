# SPDX-License-Identifier: Apache-2.0
"""What a device remembers of the logs of others, whose reads it vouches for.

PROTOCOL.md, "A log that went back".
"""

import json
import os
import time
from functools import partial
from math import ceil

from swift.common.recon import RECON_OBJECT_FILE

from swift_lightsync.proar.core.remembered import SIZE, Remembered
from swift_lightsync.proar.names import LOGS, roles_path
from swift_lightsync.proar.vouching.stamps import opened

MOST = 64 << 20


class Memory:
    """The memory of one device, in one policy: a record for each other device.

    It is not synced: what a power cut takes of it is told again.

    :param device_path: of the device
    :param policy: the storage policy
    :param recon_cache_path: where this node's object-replicator tells of its
        passes
    """

    def __init__(self, device_path, policy, recon_cache_path):
        self._path = roles_path(device_path, policy, LOGS)
        self._recon_cache_path = recon_cache_path

    def older(self, askers, positions):
        """Return the askers whose logs are older than is remembered.

        :param askers: ids of devices
        :param positions: id -> LogPosition, of those that tell it
        :raises OSError: if that cannot be told
        """
        with opened(self._path, os.O_RDWR | os.O_CREAT) as file:
            return tuple(asker for asker in askers if self._is_older(
                file, asker, positions.get(asker)))

    def _is_older(self, file, asker, position):
        known = Remembered.decode(os.pread(file, SIZE, asker * SIZE))
        if position is None:
            return known.older_since > 0
        # A pass that is known has not begun later, whatever the clock says.
        now = ceil(max(time.time(), last_pass(self._recon_cache_path)))
        found = known.after(position, now, partial(
            has_replicated, self._recon_cache_path))
        if found != known:
            os.pwrite(file, found.encode(), asker * SIZE)
        return found.older_since > 0


def has_replicated(recon_cache_path, since):
    """Return whether this node's object-replicator has brought others all.

    :param recon_cache_path: where it tells of its passes
    :param since: Unix time at which the pass may have begun, at the earliest
    """
    return last_pass(recon_cache_path) > since


def last_pass(recon_cache_path):
    """Return when the last pass of this node's object-replicator began.

    If its devices are shared out among processes, each of these has passes of
    its own: the oldest of their last ones counts.

    :returns: Unix time; 0 if it had a failure, or is not known
    """
    try:
        with open(os.path.join(recon_cache_path, RECON_OBJECT_FILE)) as file:
            known = json.loads(file.read(MOST))
        passes = list(known.get('object_replication_per_disk', {}).values())
        if not passes or min(map(_ended, passes)) < _ended(known):
            passes = [known]  # One process has passed since.
        if any(each['replication_stats']['failure'] for each in passes):
            return 0.0
        return max(0.0, min(
            _ended(each) - 60 * each['object_replication_time']
            for each in passes))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0.0


def _ended(known):
    return known['object_replication_last']
