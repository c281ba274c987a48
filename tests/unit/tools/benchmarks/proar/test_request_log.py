# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

from tools.benchmarks.proar.request_log import RequestLog

LINE = ('2026-01-01 00:00:00 127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] '
        '"%s /%s/40/%s/c/o" 201 - "%s http://127.0.0.1:1/v1/%s/c/o" "tx" '
        '"proxy-server 1" 0.03 "-" 2 0\n')


def line(method, device, account='AUTH_test'):
    return LINE % (method, device, account, method, account)


class TestRequestLog(unittest.TestCase):

    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.path = os.path.join(root.name, 'log')

    def add(self, *lines):
        with open(self.path, 'a') as log:
            log.writelines(lines)

    def test_it_counts_the_puts_of_each_device_from_now_on(self):
        self.add(line('PUT', 'n1d1'))
        log = RequestLog([self.path], 'AUTH_test')
        self.add(line('PUT', 'n1d1'), line('PUT', 'n1d2'),
                 line('PUT', 'n1d1'), line('HEAD', 'n1d1'),
                 line('PUT', 'n1d1', '.expiring_objects'))
        self.assertEqual({'n1d1': 2, 'n1d2': 1}, log.per_device())

    def test_a_server_that_has_logged_nothing_has_had_none(self):
        log = RequestLog([self.path], 'AUTH_test')
        self.assertEqual({}, log.per_device())
        self.add(line('PUT', 'n1d1'))
        self.assertEqual({'n1d1': 1}, log.per_device())


if __name__ == '__main__':
    unittest.main()
