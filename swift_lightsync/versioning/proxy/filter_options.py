# SPDX-License-Identifier: Apache-2.0
"""Options of the filter ``egg:swift-lightsync#versioning``."""

from dataclasses import dataclass
from enum import Enum

from swift.common.utils import TRUE_VALUES

from swift_lightsync.common.conf_options import between, option
from swift_lightsync.versioning.sites.propagator_options import SiteOptions

FALSE_VALUES = ('false', '0', 'no', 'off', 'f', 'n')


class Mode(Enum):
    """When it is decided which version is the latest."""
    WRITE_REPAIR = 'write-repair'
    READ_REPAIR = 'read-repair'


class Lookup(Enum):
    """How Read-Repair looks for the latest."""
    FULL = 'full'
    BY_SITE = 'by-site'


def _boolean(value):
    text = str(value).strip().lower()
    if text not in TRUE_VALUES and text not in FALSE_VALUES:
        raise ValueError('must be true or false')
    return text in TRUE_VALUES


def _one_of(choices):
    def parse(value):
        try:
            return choices(value)
        except ValueError:
            raise ValueError('must be %s' % ' or '.join(
                each.value for each in choices))
    return parse


@dataclass(frozen=True)
class FilterOptions:
    """
    :param sites: ``SiteOptions``
    :param mode: of containers that are versioned from now on
    :param lookup: of Read-Repair
    :param max_clock_skew: seconds that another site's clock may be ahead
    :param allow_versioning: whether clients may enable it
    :param latest_hint_time: seconds that memcache keeps a hint which version
        of an object is the latest; 0: there are no hints
    :param latest_cache_time: seconds that it is taken for the truth; 0: the
        container servers are always asked
    """
    sites: SiteOptions
    mode: Mode = Mode.WRITE_REPAIR
    lookup: Lookup = Lookup.FULL
    max_clock_skew: float = 60.0
    allow_versioning: bool = True
    latest_hint_time: int = 3600
    latest_cache_time: int = 0

    @classmethod
    def from_conf(cls, conf):
        """
        :param conf: a dict of the section's options
        :raises OptionError: if a value is not allowed
        """
        return cls(SiteOptions.from_conf(conf), **{
            name: option(conf, name, default, parse)
            for name, (default, parse) in _PARSERS.items()})


_PARSERS = {
    'mode': ('write-repair', _one_of(Mode)),
    'lookup': ('full', _one_of(Lookup)),
    'max_clock_skew': (60, between(0, 86400, float)),
    'allow_versioning': ('true', _boolean),
    'latest_hint_time': (3600, between(0, 86400, int)),
    'latest_cache_time': (0, between(0, 3600, int)),
}
