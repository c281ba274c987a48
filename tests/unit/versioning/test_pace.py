# SPDX-License-Identifier: Apache-2.0
"""
A site is given as much as it does in a few seconds. It is simulated here, with
a clock of its own: it works on so much at once, and each piece takes so long.
"""

import heapq
import unittest
from itertools import count
from types import SimpleNamespace

from swift_lightsync.versioning.core.outbox import (
    LEAST,
    START,
    TARGET,
    Outbox,
    Pace,
    Verb,
)
from swift_lightsync.versioning.core.shipping import MAX_SMALL

#: Seconds that the receiver takes for one request, see ``arrivals.BOUND``.
BOUND = 5.0


class Simulated:
    """A sender and a site that works on one shipment after the other.

    :param cost: a function of a shipment's number: the seconds that it takes
    :param rtt: seconds of a round trip
    :param others: seconds of other senders' work that come with each second
    """

    def __init__(self, cost, rtt, others=0.0):
        self.cost = cost
        self.rtt = rtt
        self.slower = 1 / (1 - others)
        self.pace = Pace(4096)
        self.outbox = Outbox(self.pace, 8, 1000)
        #: when the site has done all that it has
        self.free_at = 0.0
        self.now = 0.0
        self.done = []
        self.put_off = 0
        #: how long each answer was waited for
        self.waits = []

    def run(self, works):
        self.outbox.ship(works)
        events, ties = [], count()
        while self.outbox.waiting or events:
            while sending := self.outbox.next():
                heapq.heappush(events, (self.now + self.rtt / 2, next(ties),
                                        sending, self.now, None))
            self.now, _, sending, sent, answer = heapq.heappop(events)
            if answer is None:
                end, answer = self.receive(sending.works)
                heapq.heappush(events, (end + self.rtt / 2, next(ties),
                                        sending, sent, answer))
                continue
            done, seconds = answer
            self.waits.append(self.now - sent)
            self.done += sending.works[:done]
            self.outbox.ended(sending)
            if done < len(sending.works):
                self.put_off += len(sending.works) - done
                self.pace.put_off(sending.burst)
                self.outbox.ship(sending.works[done:])
            else:
                self.pace.took(sending.burst, seconds)
        return self.now

    def receive(self, works):
        """As ``Arrivals``: what is not begun within the bound comes later."""
        done = 0
        for work in works:
            begin = max(self.free_at, self.now)
            if begin - self.now >= BOUND and done:
                break
            self.free_at = begin + self.cost(work.number) * self.slower
            done += 1
        return self.free_at, (done, self.free_at - self.now)


def works(number):
    return [SimpleNamespace(number=each, size=1) for each in range(number)]


class TestPace(unittest.TestCase):

    def simulate(self, number, cost, rtt=0.2, **fields):
        site = Simulated(cost, rtt, **fields)
        site.seconds = site.run(works(number))
        self.assertEqual(number, len(site.done))
        self.assertEqual(number, len({each.number for each in site.done}))
        return site

    def test_a_fast_site_is_kept_busy_across_a_long_way(self):
        for rtt in (0.001, 0.2, 0.5):
            site = self.simulate(5000, lambda number: 0.005, rtt)
            self.assertLess(site.seconds, 5000 * 0.005 * 1.1 + 8 * rtt)
            self.assertEqual(0, site.put_off)

    def test_a_slow_site_is_never_waited_for_long(self):
        """Making a container takes it as long as that under load."""
        for cost in (0.05, 0.1, 0.3, 1.0):
            site = self.simulate(600, lambda number, cost=cost: cost)
            self.assertLess(site.seconds, 600 * cost * 1.1 + 2)
            self.assertLess(max(site.waits), START * cost + BOUND + 1)
            self.assertLess(max(site.waits[20:]),
                            TARGET + 2 * LEAST * cost + 0.5)

    def test_what_suddenly_takes_longer_is_put_off_and_never_lost(self):
        site = self.simulate(
            3000, lambda number: 0.002 if number < 2000 else 0.2)
        self.assertLess(max(site.waits), 4 * BOUND)
        self.assertLess(max(site.waits[-20:]), TARGET * 2)
        self.assertLess(site.seconds, (4 + 200) * 1.1)

    def test_others_slow_it_down(self):
        site = self.simulate(2000, lambda number: 0.01, others=0.9)
        self.assertLess(max(site.waits[20:]), TARGET * 2)

    def test_what_is_put_off_in_one_round_halves_it_once(self):
        pace = Pace(100)
        bursts = [pace.sent(4) for _ in range(8)]
        self.assertEqual(0, pace.room)
        for each in bursts:
            pace.put_off(each)
            pace.ended(each)
        self.assertEqual((START / 2, START // 2), (pace.size, pace.room))
        pace.put_off(pace.sent(1))
        self.assertEqual(START / 4, pace.size)

    def test_it_stays_between_its_bounds(self):
        pace = Pace(50)
        for _ in range(20):
            pace.put_off(pace.sent(1))
        self.assertEqual(LEAST, pace.size)
        for seconds in (0.0, 0.0, 1e6, 0.0):
            for _ in range(50):
                pace.took(pace.sent(10), seconds)
                self.assertLessEqual(LEAST, pace.size)
                self.assertLessEqual(pace.size, 50)


class TestOutbox(unittest.TestCase):

    def outbox(self, connections=4):
        return Outbox(Pace(1000), connections, 10)

    def asked(self, containers, versions):
        return [SimpleNamespace(
            database=SimpleNamespace(account='a', container='c%d' % place),
            item=SimpleNamespace(entry=SimpleNamespace(object='o%d' % each)))
            for place in range(containers) for each in range(versions)]

    def test_large_ones_leave_connections_for_small_ones(self):
        outbox = self.outbox()
        outbox.ship([SimpleNamespace(size=MAX_SMALL + 1)] * 9 + works(100))
        verbs = []
        while sending := outbox.next():
            verbs.append(sending.verb)
        self.assertEqual([Verb.STREAM] * 2 + [Verb.PACK] * 2, verbs)

    def test_an_offer_is_as_much_work_as_it_has_containers(self):
        outbox = self.outbox()
        outbox.ask(self.asked(2, 5) + self.asked(2, 50))
        sending = outbox.next()
        self.assertEqual((Verb.OFFER, 10, 2), (
            sending.verb, len(sending.works), sending.burst.count))
        self.assertEqual(1, outbox.next().burst.count)

    def test_nothing_is_sent_where_there_is_no_room(self):
        outbox = self.outbox(connections=100)
        outbox.ship(works(1000))
        sent = []
        while sending := outbox.next():
            sent.append(sending)
        self.assertEqual(START, sum(len(each.works) for each in sent))
        outbox.ended(sent[0])
        self.assertEqual(len(sent[0].works), len(outbox.next().works))
