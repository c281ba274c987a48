# SPDX-License-Identifier: Apache-2.0
"""A paste filter that makes a server slow within: a method of its own waits.

The option ``slows`` names the method, as ``module:Class.method``; the file of
that name in the server's recon cache has the seconds. Without it all is as
ever.
"""

import functools
import importlib
import os

from swift.common.concurrency import patcher, sleep

FILTER = 'slow-inside'


def options(server, method):
    """:returns: sections of a server's conf, in which the method can be slow
    """
    return {'pipeline:main': {'pipeline': '%s healthcheck recon %s' % (
        FILTER, server)}, 'filter:' + FILTER: {
            'paste.filter_factory': '%s:filter_factory' % __name__,
            'slows': method}}


def set_seconds(cache, method, seconds):
    """:param cache: the recon cache of the server's node"""
    with open(os.path.join(cache, method), 'w', encoding='ascii') as file:
        file.write('%r' % seconds)


def filter_factory(global_conf, **local_conf):
    """:returns: a filter that does nothing, for the method does"""
    module, _, name = local_conf['slows'].partition(':')
    owner, _, method = name.partition('.')
    cls = getattr(importlib.import_module(module), owner)
    path = os.path.join(global_conf['recon_cache_path'], local_conf['slows'])
    first = getattr(cls, method)
    if not hasattr(first, '__wrapped__'):
        @functools.wraps(first)
        def slow(*args, **kwargs):
            if os.path.exists(path):
                with open(path, encoding='ascii') as file:
                    sleep(float(file.read() or 0))
            return first(*args, **kwargs)
        setattr(cls, method, slow)
    return lambda app: app


def asked_filter_factory(global_conf, **local_conf):
    """:returns: a filter in which a request waits for as many seconds as its
        X-Test-Delay says, to the microsecond
    """
    wait = patcher.original('time').sleep

    def make(app):
        def delayed(env, start_response):
            wait(float(env.get('HTTP_X_TEST_DELAY') or 0))
            return app(env, start_response)
        return delayed
    return make
