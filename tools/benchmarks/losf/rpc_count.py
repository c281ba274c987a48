# SPDX-License-Identifier: Apache-2.0
"""
Counts the calls that a process makes to index servers.

``paste.filter_factory = tools.benchmarks.losf.rpc_count:filter_factory``
answers ``GET /losf-rpcs`` of an object-server with their number.
"""

from swift.common.concurrency import patcher
from swift.common.swob import Response

from swift_losf.index.channel import Channel

PATH = '/losf-rpcs'


class CallCounter:
    """
    Counts the calls of a method of a class from now on, in all threads.

    :param cls: the class
    :param name: of the method
    """

    def __init__(self, cls=Channel, name='call'):
        self._lock = patcher.original('threading').Lock()
        self.value = 0
        method = getattr(cls, name)

        def counted(*args, **kwargs):
            with self._lock:
                self.value += 1
            return method(*args, **kwargs)
        setattr(cls, name, counted)


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    counter = CallCounter()

    def make(app):
        def count(env, start_response):
            if env['PATH_INFO'] == PATH:
                app_or_answer = Response(body=b'%d' % counter.value)
            else:
                app_or_answer = app
            return app_or_answer(env, start_response)
        return count
    return make
