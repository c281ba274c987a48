# SPDX-License-Identifier: Apache-2.0
"""The report names what limits a real cluster, in ten cases that are injected.

``pytest -s`` shows the table. The machine itself may be a further limit
while other things run on it: that a driver was late is right then, and not
counted against the report.
"""

import re
import shutil
import tempfile
import unittest
from contextlib import contextmanager

import pytest

from cosbench.reports.bottleneck import limits
from tests.functional.bottleneck_cluster import BottleneckCluster
from tools.cluster import commands

SECONDS = 10
ALL = (1, 2, 3)
#: A work beside, which takes all that a driver has.
BUSY = '<work name="beside" workers="64" rampup="2" runtime="%d" ' \
    'interval="1"><storage type="mock" config="delay=0"/>' \
    '<operation type="read" ratio="100" ' \
    'config="containers=c(1);objects=u(1,9)"/></work>' % SECONDS


@contextmanager
def nothing(**options):
    yield options


#: What is injected, by whom, and what the report must name.
CASES = (
    ("a node's disk", lambda it: it.disks(25, 2),
     'node n2: (its disks were busy|an access of its disks)'),
    ('all disks', lambda it: it.disks(8, *ALL),
     r'node n\d: its disks were busy.*2 more of'),
    ("a node's processors", lambda it: it.processors(.06, 1),
     'node n1: its processors were busy'),
    ("all nodes' processors", lambda it: it.processors(.06, *ALL),
     r'node n\d: its processors were busy.*2 more of'),
    ("the proxy's processors", lambda it: it.processors(.05, None),
     'node proxy: its processors were busy'),
    ("a node's network card", lambda it: it.card(2, 3),
     'node n3: its network cards carried'),
    ("the proxy's network card", lambda it: it.card(5, None),
     'node proxy: its network cards carried'),
    ('a slow endpoint', lambda it: it.endpoint(.5),
     r'write at 127\.0\.0\.1:\d+ took'),
    ('a slow container server',
     lambda it: it.server('container-server', .4, 1),
     'node n1: a request to its container servers took'),
    ('a slow object server', lambda it: it.server('object-server', .8, 3),
     'node n3: a request to its object servers took'),
    ('the driver', lambda it: nothing(beside=BUSY),
     'driver .* used'),
)
OF_THE_MACHINE = re.compile('driver .* was late')


def named(result):
    work = next(each for stage in result.stages for each in stage.works
                if each.name == 'main')
    return limits(work, result.nodes)


@pytest.mark.long
@unittest.skipUnless(commands.is_root(), 'needs root: namespaces, throttles')
class TestBottlenecks(unittest.TestCase):

    def test_at_least_nine_in_ten_are_named_first(self):
        root = tempfile.mkdtemp(prefix='bottleneck-')
        self.addCleanup(shutil.rmtree, root)
        right, rows = 0, []
        with BottleneckCluster(root) as cluster:
            cluster.run(3)
            rows.append(('nothing', '', named(cluster.run(SECONDS))))
            for name, inject, words in CASES:
                with inject(cluster) as options:
                    found = named(cluster.run(SECONDS, **options))
                first = [each for each in found
                         if not OF_THE_MACHINE.match(each)][:1]
                is_right = bool(first and re.match(words, first[0]))
                right += is_right
                rows.append((name, 'right' if is_right else 'WRONG', found))
        for name, verdict, found in rows:
            print('%-26s %-6s %s' % (name, verdict, ' | '.join(found)))
        self.assertGreaterEqual(10 * right, 9 * len(CASES), rows)
