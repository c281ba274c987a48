# SPDX-License-Identifier: Apache-2.0
"""Tests that run with each strategy."""

import sys

from swift_lightsync.versioning.strategies.read_repair import ReadRepair
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.versioning.fakes import SiteCase


def ids(entries):
    return [entry.version.id for entry in entries]


class StrategyCase(SiteCase):

    kind = None
    lookup = 'full'

    def setUp(self):
        super().setUp()
        self.strategy = self.north.strategy(self.kind, lookup=self.lookup)

    def put(self, strategy, obj='o', *args, **fields):
        return self.north.put(strategy, obj, *args, **fields)


def of_each_strategy(case):
    """Make a class of tests of it for each strategy."""
    module = sys.modules[case.__module__]
    for kind, lookup in ((WriteRepair, 'full'), (ReadRepair, 'full'),
                         (ReadRepair, 'by-site')):
        name = '%s%s%s' % (case.__name__, kind.__name__,
                           lookup.title().replace('-', ''))
        setattr(module, name, type(name, (case,), {
            'kind': kind, 'lookup': lookup, '__test__': True,
            '__module__': case.__module__}))
    case.__test__ = False
    return case
