# SPDX-License-Identifier: Apache-2.0
"""
The options of LOSF: parsed, or refused with their names.

Those of LosfOptions belong in [DEFAULT] of object-server.conf, because the
object-server and all daemons that touch objects have to agree on them; those
of ManagerOptions in [object-losf].
"""

import math
import os
from dataclasses import dataclass, field, fields

from swift.common.utils import config_positive_int_value, non_negative_float

MIN_VOLUME_SIZE = 2 ** 20


class OptionError(ValueError):
    """An option with a value that is not allowed, saying which and why."""


def _seconds(value):
    number = non_negative_float(value)
    if not math.isfinite(number):
        raise ValueError('must be finite')
    return number


def _positive_seconds(value):
    number = _seconds(value)
    if not number:
        raise ValueError('must be more than 0')
    return number


def _volume_size(value):
    number = int(value)
    if number < MIN_VOLUME_SIZE:
        raise ValueError('must be at least %d bytes' % MIN_VOLUME_SIZE)
    return number


def _directory(value):
    if value and not os.path.isabs(value):
        raise ValueError('must be an absolute path, or empty')
    return value


def _option(default, parse):
    return field(default=default, metadata={'parse': parse})


class Options:
    """A frozen dataclass whose fields are options of a section."""

    PREFIX = ''

    @classmethod
    def from_conf(cls, conf):
        """
        :param conf: a dict of a section's options
        :returns: the options
        :raises OptionError: if a value is not allowed
        """
        values = {}
        for each in fields(cls):
            name = cls.PREFIX + each.name
            value = conf.get(name, each.default)
            try:
                values[each.name] = each.metadata['parse'](value)
            except (TypeError, ValueError) as err:
                raise OptionError('%s: %s = %s: %s' % (
                    conf.get('__file__', 'configuration'), name, value, err
                )) from err
        return cls(**values)


@dataclass(frozen=True)
class LosfOptions(Options):
    """
    What all processes of a node share.

    :param index_path: a directory for the indexes of all devices, or ''
    :param index_timeout: seconds within which an index server has answered
    :param index_retry_interval: seconds for which an index server that has
        not is not asked again
    :param max_volume_size: bytes from which on a volume gets no more files
    :param max_volume_count: volumes of a device and policy that may be in use
        at the same time
    :param volume_idle_time: seconds after which a volume is closed that
        nothing has been appended to
    """

    PREFIX = 'losf_'

    index_path: str = _option('', _directory)
    index_timeout: float = _option(5.0, _positive_seconds)
    index_retry_interval: float = _option(1.0, _seconds)
    max_volume_size: int = _option(10 * 2 ** 30, _volume_size)
    max_volume_count: int = _option(1000, config_positive_int_value)
    volume_idle_time: float = _option(10.0, _positive_seconds)


@dataclass(frozen=True)
class ManagerOptions(Options):
    """
    What the manager of the index servers does.

    :param sweep_interval: seconds between two rounds of giving space back
    :param sync_interval: seconds between two syncs of an index
    :param restart_delay: seconds until a server that died is started again
    :param max_restart_delay: what these seconds, doubled each time, end at
    :param stop_timeout: seconds that a server has to end by itself
    :param report_interval: seconds between two reports to recon
    """

    sweep_interval: float = _option(5.0, _positive_seconds)
    sync_interval: float = _option(30.0, _positive_seconds)
    restart_delay: float = _option(1.0, _positive_seconds)
    max_restart_delay: float = _option(60.0, _positive_seconds)
    stop_timeout: float = _option(10.0, _positive_seconds)
    report_interval: float = _option(30.0, _positive_seconds)
