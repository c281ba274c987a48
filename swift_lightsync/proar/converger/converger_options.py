# SPDX-License-Identifier: Apache-2.0
"""The options of [object-converger] in object-server.conf."""

from dataclasses import dataclass

from swift_lightsync.common.options import Options, integer, number, option

MOST = 10 ** 9
_SECONDS = number(0.001, 3600)


@dataclass(frozen=True)
class ConvergerOptions(Options):
    """What a converger may be told.

    :param workers: processes among which the devices are shared out, at most
        one for each; 0: this one follows all
    :param concurrency: connections to one device at the same time
    :param conn_timeout: seconds in which a peer has taken a connection
    :param node_timeout: seconds in which it has taken each part of a request,
        and has answered
    :param retry_delay: seconds for which a device that takes nothing is left
        alone, and an object that a device does not take; doubled each time
    :param max_retry_delay: what these seconds end at
    :param max_bytes_per_second: of bodies, to all devices together; 0: any
    :param max_objects_per_second: small objects that are pushed, to all
        devices together; 0: any
    :param rescan_interval: seconds between two looks for logs that no event
        has told of
    :param vouch_seconds: how long a device may answer reads alone after the
        others were asked whether they hold what it lacks
    :param max_log_entries: what the log of a device may hold for peers that
        lack it
    """
    workers: int = option(4, integer(0, 1000))
    concurrency: int = option(4, integer(1, 1000))
    conn_timeout: float = option(0.5, _SECONDS)
    node_timeout: float = option(10.0, _SECONDS)
    retry_delay: float = option(0.5, _SECONDS)
    max_retry_delay: float = option(10.0, _SECONDS)
    max_bytes_per_second: int = option(0, integer(0, MOST * 1000))
    max_objects_per_second: int = option(0, integer(0, MOST))
    rescan_interval: float = option(30.0, number(0.1, 86400))
    vouch_seconds: float = option(3.0, number(0.3, 30))
    max_log_entries: int = option(250000, integer(1000, MOST))
