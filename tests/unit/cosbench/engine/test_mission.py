# SPDX-License-Identifier: Apache-2.0
"""What a mission carries, what is left of it when a driver is lost."""

import json
import unittest

from cosbench.document.reader import read
from cosbench.engine.core.mission import Mission, Step, find, remaining, steps
from cosbench.errors import ConfigError
from swift_lightsync.common.records import RecordError
from tests.unit.cosbench.documents import NORMAL, work, wrapped
from tests.unit.cosbench.engine.runs import mission

DOCUMENT = wrapped(NORMAL)


class TestJson(unittest.TestCase):

    def test_a_mission_survives_json(self):
        found, _ = mission(DOCUMENT, driver='d', step=Step.MAIN,
                           operations=7, elapsed=1.5)
        text = json.dumps(found.to_json())
        self.assertEqual(found, Mission.from_json(json.loads(text)))

    def test_what_is_no_mission_is_refused_by_name(self):
        good = mission(DOCUMENT)[0].to_json()
        for change, named in (
                ({'stage': -1}, 'stage'), ({'stage': True}, 'stage'),
                ({'stage': 1.0}, 'stage'), ({'count': 0}, 'count'),
                ({'seed': 2 ** 63}, 'seed'), ({'seed': '1'}, 'seed'),
                ({'id': '../x'}, 'id'), ({'id': ''}, 'id'),
                ({'id': 'a/b'}, 'id'), ({'id': 'a\n'}, 'id'),
                ({'id': '..'}, 'id'),
                ({'id': 'a' * 129}, 'id'), ({'id': 3}, 'id'),
                ({'step': 'other'}, 'step'), ({'step': []}, 'step'),
                ({'elapsed': float('nan')}, 'elapsed'),
                ({'elapsed': -1}, 'elapsed'), ({'lease': 1e9}, 'lease'),
                ({'operations': -1}, 'operations'),
                ({'volume': 'all'}, 'volume'), ({'document': 1}, 'document'),
                ({'document': '\ud800'}, 'document'),
                ({'other': 1}, "'other' must be one of the keys")):
            with self.subTest(change), \
                    self.assertRaisesRegex(RecordError, '^' + named):
                Mission.from_json({**good, **change})
        for value in ([], None, 'x', {}):
            with self.subTest(value), self.assertRaises(RecordError):
                Mission.from_json(value)

    def test_a_work_or_worker_that_is_not_there_is_refused(self):
        workload = read(DOCUMENT.encode()).workload
        good = mission(DOCUMENT)[0]
        for change, named in (
                ({'stage': 1}, 'stage'), ({'work': 1}, 'work'),
                ({'first': 8}, 'first'), ({'first': 1}, 'count'),
                ({'step': 'containers'}, 'step')):
            with self.subTest(change), \
                    self.assertRaisesRegex(ConfigError, '^%s=' % named):
                find(Mission.from_json({**good.to_json(), **change}),
                     workload)


class TestSteps(unittest.TestCase):

    def steps(self, kind, config):
        text = wrapped('<work type="%s" workers="1" config="containers='
                       'r(1,2);objects=r(1,2);sizes=c(1)B;%s"/>'
                       % (kind, config))
        return steps(read(text.encode()).workload.works[0])

    def test_containers_come_before_objects_and_go_after_them(self):
        self.assertEqual((Step.CONTAINERS, Step.MAIN),
                         self.steps('prepare', 'createContainer=true'))
        self.assertEqual((Step.MAIN, Step.CONTAINERS),
                         self.steps('cleanup', 'deleteContainer=true'))

    def test_without_the_flag_there_is_one_step(self):
        for kind in ('prepare', 'cleanup', 'init', 'dispose'):
            self.assertEqual((Step.MAIN,), self.steps(kind, ''))


class TestFind(unittest.TestCase):

    def test_more_workers_than_a_driver_can_make_are_refused(self):
        whole, _ = mission(wrapped(work(
            attributes='workers="20000" runtime="1"')))
        self.assertEqual(20000, whole.count)
        with self.assertRaisesRegex(ConfigError, 'count=.*20000 workers'):
            mission(wrapped(work(attributes='workers="20001" runtime="1"')))


class TestQuotas(unittest.TestCase):

    def test_the_quotas_of_shares_add_up_to_the_total(self):
        text = wrapped(work(attributes='workers="5" totalOps="13"'))
        whole, found = mission(text)
        parts = [whole.share(0, 2), whole.share(2, 3)]
        self.assertEqual(13, sum(
            part.quota(found, worker).operations for part in parts
            for worker in range(part.first, part.first + part.count)))

    def test_what_is_left_replaces_the_own_quota(self):
        text = wrapped(work(attributes='workers="5" totalOps="13"'))
        whole, found = mission(text)
        part = whole.share(3, 2, operations=3)
        self.assertEqual([2, 1], [part.quota(found, worker).operations
                                  for worker in (3, 4)])

    def test_a_lost_share_leaves_its_quota_less_what_it_used(self):
        # Quotas are 3 3 3 2 2.
        self.assertEqual(5 - 4, remaining(13, 5, 2, 2, 4))
        self.assertEqual(0, remaining(13, 5, 2, 2, 9))
        self.assertIsNone(remaining(0, 5, 2, 2, 4))
