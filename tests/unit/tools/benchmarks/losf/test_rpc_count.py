# SPDX-License-Identifier: Apache-2.0
import unittest
from concurrent.futures import ThreadPoolExecutor

from swift.common.swob import Request

from swift_losf.index.channel import Channel
from tools.benchmarks.losf import rpc_count
from tools.benchmarks.losf.rpc_count import CallCounter


class Callee:

    def call(self, method, message):
        if method == 'bad':
            raise ValueError(message)
        return method, message


class TestCallCounter(unittest.TestCase):

    def setUp(self):
        self.cls = type('Counted', (Callee,), {})
        self.counter = CallCounter(self.cls)

    def test_calls_go_through(self):
        self.assertEqual(('m', 'x'), self.cls().call('m', message='x'))
        self.assertEqual(1, self.counter.value)

    def test_a_call_that_fails_is_one_too(self):
        with self.assertRaises(ValueError):
            self.cls().call('bad', 'x')
        self.assertEqual(1, self.counter.value)

    def test_those_of_all_threads_are_counted(self):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: self.cls().call('m', 'x'), range(1000)))
        self.assertEqual(1000, self.counter.value)


class TestFilter(unittest.TestCase):

    def setUp(self):
        self.addCleanup(setattr, Channel, 'call', Channel.call)
        Channel.call = lambda channel, *args: args
        self.app = rpc_count.filter_factory({})(self.server)

    def server(self, env, start_response):
        start_response('204 No Content', [])
        return []

    def test_it_tells_the_calls_of_index_servers(self):
        channel = object.__new__(Channel)
        for _ in range(3):
            self.assertEqual(('m', 'x'), channel.call('m', 'x'))
        answer = Request.blank(rpc_count.PATH).get_response(self.app)
        self.assertEqual(b'3', answer.body)

    def test_all_else_goes_to_the_server(self):
        answer = Request.blank('/d/1/a/c/o').get_response(self.app)
        self.assertEqual(204, answer.status_int)


if __name__ == '__main__':
    unittest.main()
