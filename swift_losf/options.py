# SPDX-License-Identifier: Apache-2.0
"""The options of LOSF.

LosfOptions belong in [DEFAULT] of object-server.conf, because the
object-server and all daemons that touch objects have to agree on them;
ManagerOptions belong in [object-losf].
"""

from dataclasses import dataclass

from swift_lightsync.common.options import (
    Options,
    absolute_path,
    integer,
    number,
    option,
    positive_seconds,
    seconds,
)

#: bytes
MIN_VOLUME_SIZE = 2 ** 20
#: bytes of metadata that an entry of an index may have
MOST_METADATA = 2 ** 14


@dataclass(frozen=True)
class LosfOptions(Options):
    """The options that all processes of a node share.

    :param index_path: a directory for the indexes of all devices, or ''
    :param index_timeout: seconds within which an index server must answer,
        and for which object-servers and daemons wait for one that is away
    :param index_retry_interval: seconds for which an index server that did
        not answer in time is not asked again
    :param max_volume_size: bytes from which on a volume gets no more files
    :param max_volume_count: volumes of a device and policy that may be in use
        at the same time
    :param volume_idle_time: seconds after which a volume is closed that
        nothing has been appended to
    """

    PREFIX = 'losf_'

    index_path: str = option('', absolute_path)
    index_timeout: float = option(5.0, positive_seconds)
    index_retry_interval: float = option(1.0, seconds)
    max_volume_size: int = option(10 * 2 ** 30, integer(MIN_VOLUME_SIZE))
    max_volume_count: int = option(1000, integer(1))
    volume_idle_time: float = option(10.0, positive_seconds)


@dataclass(frozen=True)
class CompactOptions(Options):
    """The options of the compaction of volumes.

    :param garbage: percent of what volumes take of a disk that may be garbage
    :param extents: pieces of a disk that a volume with garbage may have
    :param reserve: bytes of a disk that compaction leaves free
    :param bandwidth: bytes a second that it reads while clients are served
    :param idle_bandwidth: the same, while no client is
    """

    PREFIX = 'compact_'

    garbage: float = option(20.0, number(1, 100))
    extents: int = option(500, integer(16))
    reserve: int = option(256 * 2 ** 20, integer(0))
    bandwidth: int = option(8 * 2 ** 20, integer(1))
    idle_bandwidth: int = option(64 * 2 ** 20, integer(1))


@dataclass(frozen=True)
class ManagerOptions(Options):
    """The options of the manager of the index servers.

    :param sweep_interval: seconds between two rounds of giving space back
    :param sync_interval: seconds between two syncs of an index
    :param restart_delay: seconds until a server that died is started again
    :param max_restart_delay: what these seconds, doubled each time, end at
    :param stop_timeout: seconds that a server has to end by itself
    :param report_interval: seconds between two reports to recon
    :param index_metadata: bytes of a record's metadata up to which the index
        has them, too; 0: it has none
    """

    sweep_interval: float = option(5.0, positive_seconds)
    sync_interval: float = option(30.0, positive_seconds)
    restart_delay: float = option(1.0, positive_seconds)
    max_restart_delay: float = option(60.0, positive_seconds)
    stop_timeout: float = option(10.0, positive_seconds)
    report_interval: float = option(30.0, positive_seconds)
    index_metadata: int = option(0, integer(0, MOST_METADATA))
