# SPDX-License-Identifier: Apache-2.0
"""write_through: a write whose body has come when it cannot be logged."""

import os
from unittest import mock

from swift_lightsync.proar.log.segment import Segment, logs_path
from tests.unit.proar.logs import BROKEN
from tests.unit.proar.proxy_world import VouchedCase


class TestWriteThrough(VouchedCase):

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(Segment, 'sync', self.failing(
            logs_path(self.role[0].device))))

    def failing(self, directory):
        """:returns: the sync of a segment; those of a directory fail"""
        sync = Segment.sync

        def failing_sync(segment):
            if os.path.dirname(segment.path) == directory:
                raise BROKEN
            sync(segment)
        return failing_sync

    def test_the_primary_role_brings_it_to_the_others_before_it_answers(self):
        self.assertEqual(201, self.put(b'two'))
        self.assertEqual([(200, b'two')] * 3, [
            self.on(server) for server in self.role])
        self.assertEqual(b'two', self.request('GET').body)

    def test_a_quorum_is_enough(self):
        self.role[1].stop()
        self.assertEqual(201, self.put(b'two'))

    def test_without_a_quorum_it_is_503(self):
        self.role[1].stop()
        self.role[2].answer(507)
        self.assertEqual(503, self.put(b'two'))

    def test_what_has_no_body_is_taken_by_others(self):
        self.assertEqual(201, self.put(b'two'))
        self.assertEqual(202, self.paint())
        self.assertEqual('red', self.colour())
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.status('GET'))
