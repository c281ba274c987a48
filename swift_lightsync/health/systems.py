# SPDX-License-Identifier: Apache-2.0
"""The systems that the health check knows."""

import importlib
from collections.abc import Iterator

from swift_lightsync.common.health import Watched

#: The module of each, in the order of the report. They are imported by name,
#: since a node need not have the libraries of all.
MODULES = ('swift_lightsync.software', 'swift_lightsync.report.watched',
           'swift_losf.daemon.watched',
           'swift_lightsync.proar.vouching.watched',
           'swift_lightsync.versioning.sites.sync_report')


def systems() -> Iterator[Watched]:
    """Yield the systems whose libraries are installed."""
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as err:
            if (err.name or '').startswith(('swift_lightsync', 'swift_losf')):
                raise
            continue
        found: Watched = module.WATCHED
        yield found
