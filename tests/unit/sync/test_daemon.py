# SPDX-License-Identifier: Apache-2.0
"""The daemon as a process: what an operator reads of a wrong option."""

import os
import subprocess
import sys

import swift_lightsync
from tests.unit.sync.fixtures import DEADLINE, SwiftTestCase, node, ring_of

REPOSITORY = os.path.dirname(os.path.dirname(swift_lightsync.__file__))


class TestDaemon(SwiftTestCase):

    def started(self, start):
        """Return the exit status of a daemon, and its lines of errors."""
        ring_of(self.root, [node(0, 6200)])
        conf = os.path.join(self.root, 'object-server.conf')
        with open(conf, 'w') as out:
            out.write('[object-replicator]\nswift_dir = %s\n'
                      'error_suppression_limit = none\n' % self.root)
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import sys\nfrom swift.common import utils\n'
             'from swift.common.daemon import run_daemon\n'
             'from swift_lightsync.sync import replicator\n'
             'utils.validate_hash_conf = lambda: None\n' + start, conf],
            cwd=REPOSITORY, capture_output=True, text=True, timeout=DEADLINE)
        return done.returncode, [line.replace(conf, 'CONF')
                                 for line in done.stderr.splitlines()]

    def test_a_daemon_ends_with_one_line_and_status_1(self):
        for start in ('replicator.main()',
                      # As swift-object-replicator has it.
                      'run_daemon(replicator.LightSyncReplicator, '
                      'sys.argv[1], "object-replicator", once=True)'):
            with self.subTest(start):
                self.assertEqual(
                    (1, ['Error: CONF: error_suppression_limit = none: '
                         'must be a whole number, 1 to 1000000']),
                    self.started(start))
