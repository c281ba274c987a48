# SPDX-License-Identifier: Apache-2.0
"""Options of the filter ``egg:swift-lightsync#versioning``."""

from dataclasses import dataclass
from enum import Enum

from swift_lightsync.common.options import (
    Options,
    boolean,
    choice,
    integer,
    number,
    option,
)
from swift_lightsync.versioning.sites.propagator_options import SiteOptions


class Mode(Enum):
    """When the latest version is decided."""
    WRITE_REPAIR = 'write-repair'
    READ_REPAIR = 'read-repair'


@dataclass(frozen=True)
class FilterOptions(Options):
    """
    The options of the filter.

    :param sites: ``SiteOptions``
    :param mode: of containers that are versioned from now on
    :param max_clock_skew: seconds that another site's clock may be ahead
    :param allow_versioning: whether clients may enable it
    :param latest_hint_time: seconds that memcache keeps a hint which version
        of an object is the latest; 0: there are no hints
    :param latest_cache_time: seconds that reads trust memcache without asking
        the container servers; 0: they always ask
    """
    sites: SiteOptions
    mode: Mode = option(Mode.WRITE_REPAIR, choice(Mode))
    max_clock_skew: float = option(60.0, number(0, 86400))
    allow_versioning: bool = option(True, boolean)
    latest_hint_time: int = option(3600, integer(0, 86400))
    latest_cache_time: int = option(0, integer(0, 3600))

    @classmethod
    def from_conf(cls, conf, **others):
        """
        Read the options of the filter and of its site.

        :param conf: a dict of the section's options
        :raises OptionError: if a value is not allowed
        """
        return super().from_conf(
            conf, sites=SiteOptions.from_conf(conf), **others)
