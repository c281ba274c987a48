# SPDX-License-Identifier: Apache-2.0
"""Parts, versions, appends, endpoints: what is asked, and what is counted."""

import asyncio
import time
import unittest
from collections import Counter

from cosbench.adaptors import Endpoints
from cosbench.adaptors.base import OperationError, Transfer
from cosbench.engine import known
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.engine.runs import Recorder, ran, tally

TARGET = 'containers=c(1);objects=r(1,4);'


class Storage(Recorder):
    """Has versions; each look at what is there takes a second."""

    LOOK = 1

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.looks = Counter()
        self.wants = []

    async def _look(self, kind, *place):
        self.looks[(kind, *place)] += 1
        await asyncio.sleep(self.LOOK)

    async def put(self, container, name, body, want=None):
        self.wants.append(want)
        return await super().put(container, name, body)

    async def get(self, container, name, sink=None, want=None):
        self.wants.append(want)
        return await super().get(container, name, sink)

    async def head(self, container, name, want=None):
        self.wants.append(want)
        return await self._done('head', container, name)

    async def post(self, container, name, want):
        self.wants.append(want)
        return await self._done('post', container, name)

    async def delete(self, container, name, want=None):
        return await self._done('delete', container, (name, want.version))

    async def versions(self, container, name):
        await self._look('versions', container, name)
        return [name + each for each in 'cba']

    async def length(self, container, name):
        await self._look('length', container, name)
        return None

    async def bulk_delete(self, container, names):
        return await self._done('bulk', container, tuple(names))

    async def upload(self, container, name, bodies, parts, note, want=None):
        for number, body in enumerate(bodies):
            started = time.monotonic()
            await asyncio.sleep(0.1)
            if number == 2:
                note(started, None, 'http 503')
                raise OperationError('http 503')
            note(started, Transfer(time.monotonic(), body.size), None)
        return await self._done('upload', container, name,
                                sum(each.size for each in bodies))


def document(kind, config, total=8, workers=1):
    return wrapped(work(operation(TARGET + config, kind,
                                  'division="object"'),
                        'workers="%d" totalOps="%d"' % (workers, total)))


class TestOperations(unittest.TestCase):

    def test_each_part_of_an_upload_is_counted_beside_its_write(self):
        storage = Storage()
        run = ran(document('write', 'sizes=c(5)KB;partSize=c(3)KB'), storage)
        self.assertEqual({('upload', 'mycontainers1', 5000)}, {
            (each[0], each[1], each[3]) for each in storage.asked})
        self.assertEqual((8, 40000), (tally(run).count, tally(run).bytes))
        parts = tally(run, 'op1/part')
        self.assertEqual((16, 40000), (parts.count, parts.bytes))
        self.assertAlmostEqual(100000, parts.response.mean, delta=200)
        self.assertAlmostEqual(200000, tally(run).response.mean, delta=400)
        # The quota is of operations.
        self.assertEqual({'operations': 8, 'volume': 40000},
                         run.report(0)['used'])
        points = Timeline.from_json(run.report(0)['timeline'])
        self.assertEqual(16, sum(point.count
                                 for point in points.points('op1/part')))

    def test_a_part_that_fails_fails_its_write(self):
        run = ran(document('write', 'sizes=c(9)KB;partSize=c(3)KB', 1),
                  Storage())
        self.assertEqual({'http 503': 1}, tally(run).failures)
        self.assertEqual((2, {'http 503': 1}), (
            tally(run, 'op1/part').count, tally(run, 'op1/part').failures))

    def test_versions_are_looked_up_once_and_that_is_not_measured(self):
        storage = Storage(delay=0.1)
        run = ran(document('read', 'version=oldest'), storage)
        self.assertEqual([1] * 4, list(storage.looks.values()))
        self.assertEqual(
            ['myobjects%da' % number for number in (1, 2, 3, 4)] * 2,
            [each.version for each in storage.wants])
        self.assertAlmostEqual(10 ** 5, tally(run).response.most, delta=200)

    def test_each_version_is_deleted_once(self):
        storage = Storage(delay=1)
        ran(document('delete', 'version=random', 12, 4), storage)
        self.assertEqual({'myobjects%d%s' % (number, each)
                          for number in (1, 2, 3, 4) for each in 'abc'},
                         {each[2][1] for each in storage.asked})
        self.assertEqual(12, len(storage.asked))
        # When all are gone, it is asked for again.
        ran(document('delete', 'version=latest', 16, 4), storage)
        self.assertEqual({3}, set(storage.looks.values()))

    def test_an_object_without_versions_is_a_failure(self):
        class Empty(Storage):
            async def versions(self, container, name):
                return []
        run = ran(document('head', 'version=latest'), Empty())
        self.assertEqual({'http 404': 8}, tally(run).failures)

    def test_a_range_has_its_bytes_and_its_headers(self):
        storage = Storage()
        ran(document('read', 'offset=c(2)KB;length=r(1,2)KB;header.A=b'),
            storage)
        self.assertEqual([(2000, 2999), (2000, 3999)] * 4,
                         [each.span for each in storage.wants])
        self.assertEqual({(('a', 'b'),)},
                         {each.headers for each in storage.wants})
        storage = Storage()
        ran(document('read', 'part=r(2,3)'), storage)
        self.assertEqual([2, 3] * 4, [each.part for each in storage.wants])

    def test_an_append_keeps_what_was_there(self):
        storage = Storage()
        run = ran(document('append', 'sizes=c(100)B;upTo=c(350)B', 4 * 5),
                  storage)
        self.assertEqual([1] * 4, list(storage.looks.values()))
        sizes = [each[3] for each in storage.asked
                 if each[2] == 'myobjects2']
        self.assertEqual([100, 200, 300, 100, 200], sizes)
        self.assertEqual(4 * 900, tally(run).bytes)
        ran(document('append', 'sizes=c(50)B', 4 * 4), longer := Storage())
        for place, data in storage.objects.items():
            self.assertEqual(data, longer.objects[place])

    def test_after_an_append_that_failed_its_object_is_looked_at(self):
        storage = Storage(refuse=lambda *args: 'http 503')
        ran(document('append', 'sizes=c(100)B', 8), storage)
        self.assertEqual([2] * 4, list(storage.looks.values()))

    def test_what_is_remembered_has_a_bound(self):
        memory = known._Memory()
        for number in range(known.MAX_KNOWN + 5):
            memory.remember(number, number)
        self.assertEqual(known.MAX_KNOWN, len(memory))
        self.assertNotIn(4, memory)

    def test_the_rest_is_one_call(self):
        storage = Storage()
        ran(document('bulkdelete', 'batch=3', 2), storage)
        self.assertEqual([tuple('myobjects%d' % number for number in each)
                          for each in ((1, 2, 3), (4, 1, 2))],
                         [each[2] for each in storage.asked])
        storage = Storage()
        ran(document('post', 'header.A=b'), storage)
        self.assertEqual({(('a', 'b'),)},
                         {each.headers for each in storage.wants})
        ran(document('head', ''), storage)
        self.assertEqual({'post': 8, 'head': 8},
                         Counter(each[0] for each in storage.asked))


class TestEndpoints(unittest.TestCase):

    def ran(self, kind, config, storages, around='', **fields):
        text = wrapped(
            '<work name="w" type="%s" %s config="%s"/>' % (
                kind, 'workers="3"', TARGET + config)
            if kind == 'prepare' else work(operation(TARGET + config, kind),
                                           'workers="3" totalOps="30"'),
            above='<storage type="mock" config="endpoints=http://a,http://b:9'
                  '"/>')
        return ran(text, Endpoints(storages), **fields)

    def test_they_take_turns_and_have_figures_of_their_own(self):
        storages = [Recorder(delay=0.1), Recorder(
            delay=0.3, refuse=lambda *args: 'timeout')]
        run = self.ran('read', '', storages)
        self.assertEqual([15, 15], [len(each.asked) for each in storages])
        self.assertEqual((15, {'timeout': 15}), (
            tally(run).count, tally(run).failures))
        first, second = tally(run, 'op1/1'), tally(run, 'op1/2')
        self.assertEqual((15, {}, 0, {'timeout': 15}), (
            first.count, first.failures, second.count, second.failures))
        self.assertEqual(30, run.report(0)['used']['operations'])
        self.assertEqual([1, 1], [each.opened for each in storages])
        self.assertEqual([1, 1], [each.closed for each in storages])

    def test_special_works_ask_all_too(self):
        storages = [Recorder(), Recorder()]
        run = self.ran('prepare', 'sizes=c(1)B', storages)
        self.assertEqual([2, 2], [len(each.asked) for each in storages])
        self.assertEqual((4, 2), (tally(run).count,
                                  tally(run, 'op1/2').count))
