# SPDX-License-Identifier: Apache-2.0
"""Tests that run with each strategy."""

import sys

from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import SiteCase


def ids(entries):
    return [entry.version.id for entry in entries]


class StrategyCase(SiteCase):

    kind = None

    def setUp(self):
        super().setUp()
        self.strategy = self.north.strategy(self.kind)

    def settle(self):
        """Wait until what a majority was enough for is everywhere."""
        wait_for(lambda: not self.north.network.under_way, 'all is answered')

    def put(self, obj='o', strategy=None, **fields):
        return self.north.put(strategy or self.strategy, obj, **fields)


def _of_each(case, variants):
    """Make a class of tests of a case for each variant of its attributes."""
    module = sys.modules[case.__module__]
    for attributes in variants:
        name = case.__name__ + ''.join(
            getattr(value, '__name__', value).title().replace('-', '')
            for value in attributes.values())
        setattr(module, name, type(name, (case,), {
            **attributes, '__test__': True, '__module__': case.__module__}))
    case.__test__ = False
    return case


def of_each_strategy(case):
    """Make a class of tests of it for each strategy."""
    return _of_each(case, [
        {'kind': WriteRepair}, {'kind': ReadRepair}])


def of_both_modes(case):
    """Make a class of tests of it for each mode of a container."""
    return _of_each(case, [{'mode': 'write-repair'},
                           {'mode': 'read-repair'}])
