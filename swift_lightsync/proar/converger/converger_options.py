# SPDX-License-Identifier: Apache-2.0
"""The options of [object-converger] in object-server.conf."""

from dataclasses import dataclass, fields

from swift_lightsync.common.conf_options import between, finite_float, option
from swift_lightsync.proar.core.oplog import RECORD

MOST = 10 ** 9


@dataclass(frozen=True)
class ConvergerOptions:
    """
    :param concurrency: partitions that are pushed to one device at the same
        time
    :param conn_timeout: seconds in which a peer has taken a connection
    :param node_timeout: seconds in which it has taken each part of a request,
        and has answered
    :param retry_delay: seconds for which a device that takes nothing is left
        alone, and an object that a device does not take; doubled each time
    :param max_retry_delay: what these seconds end at
    :param max_bytes_per_second: of bodies, to all devices together; 0: any
    :param rescan_interval: seconds between two looks for logs that no event
        has told of
    :param log_idle: seconds after which a log that all peers hold is removed
    :param log_size: bytes from which on what all peers hold is cut off a log
    :param max_log_entries: what a log may hold for a peer that lacks it
    """
    concurrency: int = 4
    conn_timeout: float = 0.5
    node_timeout: float = 10.0
    retry_delay: float = 0.5
    max_retry_delay: float = 10.0
    max_bytes_per_second: int = 0
    rescan_interval: float = 30.0
    log_idle: float = 30.0
    log_size: int = 1 << 20
    max_log_entries: int = 100000

    @classmethod
    def from_conf(cls, conf):
        """
        :param conf: a dict of the section's options
        :returns: the options
        :raises OptionError: if a value is not allowed
        """
        return cls(**{each.name: option(conf, each.name, each.default,
                                        _PARSERS[each.name])
                      for each in fields(cls)})


_SECONDS = between(0.001, 3600, float)
_PARSERS = {
    'concurrency': between(1, 1000),
    'conn_timeout': _SECONDS,
    'node_timeout': _SECONDS,
    'retry_delay': _SECONDS,
    'max_retry_delay': _SECONDS,
    'max_bytes_per_second': between(0, MOST * 1000),
    'rescan_interval': between(0.1, 86400, float),
    'log_idle': finite_float,
    'log_size': between(RECORD, MOST),
    'max_log_entries': between(1000, MOST),
}
