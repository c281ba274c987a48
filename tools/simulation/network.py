# SPDX-License-Identifier: Apache-2.0
"""The network: which nodes reach which, and how much was sent.

A cut concerns connections: (a, b) cut means that a cannot connect to b.
"""

import math
from collections import Counter
from enum import Enum


class Reach(Enum):
    """The outcome of a request."""
    ANSWERED = 1
    REFUSED = 2
    #: No connection.
    SILENT = 3
    #: A connection that was lost by chance.
    LOST = 4
    #: It arrived; its answer was lost.
    UNANSWERED = 5
    #: 507: the node is there, its disk is not mounted.
    UNMOUNTED = 6


class Network:
    """Loses, delays and counts messages.

    :param rng: a random.Random
    :param loss: probability that a request is lost; an answer is lost with the
        same probability
    :param latency: seconds, one way
    """

    def __init__(self, rng, loss, latency):
        self.rng = rng
        self.loss = loss
        self.latency = latency
        #: Number of a node -> how it is down.
        self.down = {}
        #: Nodes whose disk is not mounted.
        self.unmounted = set()
        #: Number of a node -> how many times as long as others it takes;
        #: infinite: it takes requests, and answers none.
        self.slow = {}
        #: (sender, receiver) -> what the sender meets.
        self.cuts = {}
        self.reset()

    def reset(self):
        """Start counting anew."""
        self.messages = Counter()
        #: What each node sent, and sent and received.
        self.sent = Counter()
        self.bytes = Counter()

    def reach(self, sender, receiver):
        """Return the outcome of a request that is sent now."""
        if receiver in self.down:
            return self.down[receiver]
        if (sender, receiver) in self.cuts:
            return self.cuts[sender, receiver]
        if self.loss and self.rng.random() < self.loss:
            return Reach.LOST
        if self.loss and self.rng.random() < self.loss:
            return Reach.UNANSWERED
        if receiver in self.unmounted:
            return Reach.UNMOUNTED
        return Reach.ANSWERED

    def is_live(self, node):
        """Check whether a node is up and has its disk."""
        return node not in self.down and node not in self.unmounted

    def work(self, node, seconds):
        """Return how many seconds a node takes for work that takes others so
        many.
        """
        return seconds and seconds * self.slow.get(node, 1)

    def hangs(self, node):
        return self.slow.get(node) == math.inf

    def cut(self, senders, receivers, how=Reach.SILENT):
        """Cut the connections from the first nodes to the second."""
        self.cuts.update({(a, b): how for a in senders for b in receivers})

    def heal(self):
        """Mend all cuts."""
        self.cuts.clear()

    def count(self, kind, sender, receiver, size, number=1):
        """Count messages and their bytes.

        :param kind: the kind of message
        :param size: bytes of one, including its answer
        :param number: how many messages
        """
        self.messages[kind] += number
        self.sent[sender] += number
        self.bytes[sender] += size * number
        self.bytes[receiver] += size * number
