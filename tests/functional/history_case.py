# SPDX-License-Identifier: Apache-2.0
"""What clients of primary-role writes have seen, of a real cluster, and
whether they may.
"""

import time
import unittest
from contextlib import contextmanager
from dataclasses import replace

from tests.functional.history import Outage, judge
from tests.functional.role_cluster import SUPPRESSION, role_cluster

CLIENTS = 8


class HistoryCase(unittest.TestCase):
    """A RoleCluster, and Traffic whose history is judged."""

    #: of the cluster's spec
    fields = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(role_cluster(**cls.fields))

    def begin(self, objects, seed):
        """Make objects that all their devices hold, for other traffic."""
        container = '%s-%d' % (self.id().rpartition('.')[2], seed)
        print('%s, seed %d' % (container, seed))
        self.traffic = self.cluster.traffic(container, objects, seed)
        #: node -> Outages
        self.outages = {}
        #: name of an object -> the nodes of its primary roles, by all rings
        self.primaries = {}
        for name in self.traffic.names:
            self.traffic.ask('PUT', name)
        self.cluster.converge()

    def clients(self):
        """:returns: (as a context) the traffic of many clients"""
        return self.traffic.from_clients(CLIENTS)

    def have_outage(self, node, meanwhile):
        """Kill the object-server of a node, and start it again."""
        self.outages.setdefault(node, []).append(
            self.cluster.outage(node, meanwhile))

    @contextmanager
    def outage_of(self, node):
        """What happens in the context counts as an outage of a node."""
        begin = time.monotonic()
        yield
        up = time.monotonic()
        self.outages.setdefault(node, []).append(Outage(
            begin, begin, up, up + 2 * SUPPRESSION))

    def judge(self):
        """Have all objects read when they have converged; check that the
        history of each is linearizable, but for what PROTOCOL.md lists.

        :returns: how many reads were stale
        """
        self.cluster.converge()
        converged = time.monotonic()
        for name in self.traffic.names:
            for verb in 'GET', 'HEAD':
                self.assertIn(self.traffic.ask(verb, name).status, (200, 404))
        stale = sum(self._judge(converged, *each)
                    for each in self.traffic.histories())
        print('%d stale reads of %d requests: %s' % (
            stale, len(self.traffic.requests), self.traffic.counts()))
        return stale

    def note_primaries(self):
        """The ring or its regions are about to change: note who the primary
        roles are.
        """
        for name in self.traffic.names:
            self.primaries.setdefault(name, set()).add(
                self.cluster.primary(self.traffic, name))

    def _judge(self, converged, name, bodies, metadata):
        self.note_primaries()
        outages = [outage for node in self.primaries[name]
                   for outage in self.outages.get(node, ())]
        of_bodies = judge(bodies, outages)
        # A POST that was failed over, or comes after that, may be on older
        # data than the newest: it is not seen until it is with these.
        of_metadata = judge(metadata, [
            replace(each, up=each.down, end=converged) for each in outages])
        found = of_bodies.violations + of_metadata.violations
        for each in found:
            self.traffic.show(name, each.operation.answered)
            print(self.primaries[name], self.outages)
        self.assertFalse(found, '\n'.join(map(str, found)))
        return len(of_bodies.stale)
