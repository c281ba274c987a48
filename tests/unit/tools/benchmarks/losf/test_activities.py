# SPDX-License-Identifier: Apache-2.0
import unittest
from types import SimpleNamespace

from tools.benchmarks.losf.activities import Listing, ObjectRequests
from tools.benchmarks.losf.client import Outcome
from tools.benchmarks.losf.dataset import Object
from tools.benchmarks.losf.settings import Settings

OBJECTS = [Object('o%d' % i, 100 + i) for i in range(5)]


class Clients:
    """
    Notes what is played.

    :param most: requests for which there is time
    """

    def __init__(self, most=100):
        self.most = most
        self.batches = []

    def submit(self, function, batch):
        self.batches.append(batch)
        done = Outcome(1.0, (0.1,) * min(self.most, len(batch.requests)))
        return SimpleNamespace(result=lambda: done)

    def asked(self):
        return [[(each.method, each.path, each.statuses)
                 for each in batch.requests] for batch in self.batches]


class Activities(unittest.TestCase):

    def setUp(self):
        self.forgotten = []
        self.site = SimpleNamespace(
            settings=Settings(clients=3, seconds=7), device_name='d',
            address=('127.0.0.1', 1), forget_hashes=self.forgotten.append,
            ring=SimpleNamespace(get_part=lambda a, c, o: int(o[1:])))


class TestObjectRequests(Activities):

    def requests(self, op, clients):
        return ObjectRequests(self.site, clients, op, OBJECTS)

    def test_each_object_is_asked_for_at_its_partition(self):
        clients = Clients()
        outcome = self.requests('delete', clients).play()
        self.assertEqual(5, len(outcome.latencies))
        self.assertEqual([[('DELETE', '/d/%d/AUTH_bench/bench/o%d' % (i, i),
                            (204,)) for i in range(5)]], clients.asked())
        batch, = clients.batches
        self.assertEqual((3, 7), (batch.clients, batch.seconds))

    def test_what_is_going_to_be_written_is_read_before_it_is_warm(self):
        clients = Clients()
        self.requests('put', clients).warm_up()
        self.assertEqual([[('GET', '/d/%d/AUTH_bench/bench/o%d' % (i, i),
                            (200, 404)) for i in range(5)]],
                         clients.asked())

    def test_what_there_was_no_time_to_warm_is_not_played(self):
        clients = Clients(most=2)
        requests = self.requests('get', clients)
        requests.warm_up()
        requests.play()
        self.assertEqual([5, 2], list(map(len, clients.asked())))


class TestListing(Activities):

    def test_the_partitions_have_no_hashes_when_they_are_listed(self):
        clients = Clients()
        listing = Listing(self.site, clients, [4, 7])
        listing.warm_up()
        self.assertEqual([4, 7], self.forgotten)
        listing.prepare()
        listing.play()
        self.assertEqual([4, 7, 4, 7], self.forgotten)
        self.assertEqual([[('REPLICATE', '/d/4', (200,)),
                           ('REPLICATE', '/d/7', (200,))]] * 2,
                         clients.asked())


if __name__ == '__main__':
    unittest.main()
