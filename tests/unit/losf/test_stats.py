# SPDX-License-Identifier: Apache-2.0
"""swift-losf-stats: what volumes take, and what for."""

import contextlib
import io
import json

from swift_losf.fsck import stats
from tests.unit.losf.index_world import NAME, PARTITION, IndexTest


class TestStats(IndexTest):

    def setUp(self):
        super().setUp()
        index = self.open_index()
        for number in range(4):
            self.put(index, NAME, bytes([number]) * 16, data=b'x' * 100000)
        index.remove(PARTITION, bytes([1]) * 16)
        self.live = sum(state.live_bytes for _, state in index.list_volumes())
        index.close()

    def serve(self):
        # What is removed stays, and the volume is locked by this test.
        super().serve('--sweep-interval', '1000')

    def run_stats(self, *args):
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                status = stats.main([self.device, *args])
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def test_volumes_and_their_sum(self):
        self.serve()
        status, out, _ = self.run_stats('--no-mount-check', '--json')
        *volumes, last = map(json.loads, out.splitlines())
        self.assertEqual(0, status)
        self.assertEqual([(1, 3, self.live)], [
            (each['number'], each['files'], each['live'])
            for each in volumes])
        self.assertGreaterEqual(volumes[0]['garbage'], 100000)
        self.assertGreaterEqual(volumes[0]['extents'], 1)
        found = last['summary']
        self.assertEqual((1, 3, self.live), (
            found['volumes'], found['files'], found['live']))
        self.assertAlmostEqual(found['allocated'] / self.live,
                               found['allocated_per_live'])
        _, text, _ = self.run_stats('--no-mount-check')
        self.assertRegex(text, r'v0000000001: data, 3 files, \d+ bytes live')
        self.assertRegex(text, r'\n1 volumes, 3 files, .*live 1\.\d+\n\Z')

    def test_a_server_that_does_not_run_is_named(self):
        status, out, err = self.run_stats('--no-mount-check')
        self.assertEqual((2, ''), (status, out))
        self.assertIn(self.layout.socket, err)
