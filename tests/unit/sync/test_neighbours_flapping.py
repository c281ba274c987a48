# SPDX-License-Identifier: Apache-2.0
"""Neighbours: what a node costs that comes and goes as it likes."""


from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.keys import endpoint
from tests.unit.sync.neighbourhood import (
    Bench,
    answer,
    break_off,
    hang,
    keep_silent,
    others,
    refuse,
)


class FlappingNode(RuleBasedStateMachine):
    """
    Whatever a node does, what others and itself say of it: it costs a bounded
    number of time-outs, and who is well is not left out for longer than ESI.
    """

    ESI = 60
    #: Time-outs until a node fails, and the one of a second chance.
    MOST = 6

    def __init__(self):
        super().__init__()
        self.bench = Bench(others(2))
        self.peer = self.bench.nodes[0]
        self.key = endpoint(self.peer)
        self.behave(answer)
        #: When it was waited for.
        self.waits = {keep_silent: [], hang: []}
        self.asked = 0

    @initialize()
    def start(self):
        self.bench.begin_pass()

    def teardown(self):
        self.bench.stack.close()

    @property
    def now(self):
        return self.bench.clock.now

    def other_process(self):
        """The object-server of the node."""
        return FailureStore(self.bench.conf, self.bench.logger)

    @rule(behaviour=st.sampled_from([
        answer, refuse, break_off, keep_silent, hang]))
    def behave(self, behaviour):
        self.well_since = self.now if behaviour is answer else None
        self.bench.client.behaviour[self.key] = behaviour
        self.behaviour = behaviour

    @rule(count=st.sampled_from([1, 3, 12]))
    def ask(self, count):
        for _ in range(count):
            if self.bench.ask(self.peer) is not None:
                self.waits.get(self.behaviour, []).append(self.now)

    @rule(behaviour=st.sampled_from([keep_silent, hang]))
    def answer_one_message_in_two(self, behaviour):
        for _ in range(8):
            for each in (behaviour, answer):
                self.behave(each)
                self.ask(1)

    @rule()
    def next_pass(self):
        knocked = self.key in self.bench.subject.failures.refusing()
        self.bench.begin_pass()
        if knocked and self.behaviour is keep_silent:
            self.waits[keep_silent].append(self.now)
        if knocked and self.behaviour in (answer, hang):
            assert not self.bench.subject.failures.has_failed(self.key)

    @rule()
    def a_notice_comes(self):
        self.other_process().report(('127.0.0.9', 6200), self.key)

    @rule()
    def its_sync_message_comes(self):
        store = self.other_process()
        if store.has_failed(self.key):
            store.hint(self.key)

    @rule(seconds=st.sampled_from([0.6, 7, 30, 59, 60]))
    def wait(self, seconds):
        self.bench.clock.now += seconds

    @invariant()
    def time_outs_are_bounded(self):
        for behaviour, most in ((keep_silent, self.MOST), (hang, 1)):
            recent = [then for then in self.waits[behaviour]
                      if self.now - then < self.ESI]
            assert len(recent) <= most, recent

    @invariant()
    def who_is_well_is_not_left_out(self):
        if self.well_since is not None and \
                self.now - self.well_since >= self.ESI:
            assert not self.bench.subject.has_failed(self.peer)


TestFlappingNode = FlappingNode.TestCase
TestFlappingNode.settings = settings(max_examples=100,
                                     stateful_step_count=30)
