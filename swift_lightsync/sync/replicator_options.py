# SPDX-License-Identifier: Apache-2.0
"""The options of replicator and reconstructor.

etc/object-server.conf-sample has them.
"""

from dataclasses import dataclass
from typing import Any

from swift_lightsync.common.options import (
    Options,
    integer,
    number,
    option,
    seconds,
)
from swift_lightsync.sync.core.shared_set import MAX_PARTITIONS

#: Partitions in one sync message.
DEFAULT_BATCH = 1 << 16


def _sync_method(value: str) -> str:
    # As in Swift, an empty value means the default.
    if value not in ('rsync', 'ssync', ''):
        raise ValueError('must be rsync or ssync')
    return value


def _interval(value: Any) -> float:
    interval = seconds(value)
    if 0 < interval < 1:
        raise ValueError('must be 0, or 1 and more')
    return interval


@dataclass(frozen=True)
class Timeouts(Options):
    """Options of Swift that it does not check, and only fails by later."""
    conn_timeout: float = option(0.5, number(0.001, 3600))
    http_timeout: int = option(60, integer(1, 3600))


@dataclass(frozen=True)
class StockOptions(Timeouts):
    """Likewise, of the replicator."""
    sync_method: str = option('rsync', _sync_method)


@dataclass(frozen=True)
class ReconstructorOptions(Timeouts):
    """The reconstructor's own option, and those of Swift."""
    full_exchange_interval: float = option(3600, _interval)


@dataclass(frozen=True)
class ReplicatorOptions(Options):
    """The replicator's own options."""
    full_exchange_interval: float = option(3600, _interval)
    full_exchange_partitions_per_second: float = option(
        100.0, number(0, 1e6))
    sync_batch_partitions: int = option(
        DEFAULT_BATCH, integer(1, MAX_PARTITIONS))
