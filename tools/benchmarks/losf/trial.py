# SPDX-License-Identifier: Apache-2.0
"""One run of the operations on one site."""

import math

from tools.benchmarks.losf.activities import Listing, ObjectRequests, Walk
from tools.benchmarks.losf.measure import measure
from tools.benchmarks.losf.settings import CACHES, SAMPLES

#: op -> the sample of the run that it touches, cold and warm
SAMPLE_OF = {'get': (0, 0), 'head': (0, 0), 'put_over': (1, 2),
             'delete': (3, 4)}
#: For so many operations of the others, one partition is listed.
OPERATIONS_PER_PARTITION = 100


def objects(data_set, count, run, op, cache):
    """
    :param data_set: the DataSet
    :param count: of the objects
    :param run: its number, from 1
    :param op: one that is for objects
    :param cache: one of CACHES
    :returns: the objects that a measurement touches
    """
    purpose = '%d-%s' % (run, cache)
    if op == 'put':
        return data_set.new(purpose, count)
    number = SAMPLE_OF[op][CACHES.index(cache)]
    found = data_set.sample((run - 1) * SAMPLES + number, count)
    return data_set.resized(found, purpose) if op == 'put_over' else found


def partitions(existing, count, run):
    """
    :param existing: the partitions that there are
    :param count: how many are listed
    :param run: its number, from 1
    :returns: those that are listed in this run: others in each, if there are
        enough
    """
    return [existing[((run - 1) * count + i) % len(existing)]
            for i in range(count)]


class Trial:
    """
    :param site: the Site
    :param clients: an executor, in whose process the clients are
    :param data_set: the DataSet
    :param run: its number, from 1
    """

    def __init__(self, site, clients, data_set, run):
        self.site = site
        self.clients = clients
        self.data_set = data_set
        self.run = run

    def measure(self, op, cache, limit):
        """
        :param op: one of OPS
        :param cache: one of CACHES
        :param limit: of the operations
        :returns: Measured
        :raises BenchError: if an answer was not the right one
        """
        activity = self._activity(op, cache, limit)
        if cache == 'warm':
            activity.warm_up()
        activity.prepare()
        if cache == 'cold':
            self.site.chill()
        else:
            self.site.settle()
        return measure(self.site, activity.play)

    def _activity(self, op, cache, limit):
        count = self.site.settings.operations
        if op == 'audit':
            return Walk(self.site, limit, self.site.settings.seconds,
                        self.run)
        if op == 'walk':
            return Walk(self.site, math.inf, math.inf, self.run)
        if op == 'list':
            count = max(1, count // OPERATIONS_PER_PARTITION)
            return Listing(self.site, self.clients, partitions(
                self.site.partitions(), count, self.run)[:limit])
        return ObjectRequests(self.site, self.clients, op, objects(
            self.data_set, count, self.run, op, cache)[:limit])
