# SPDX-License-Identifier: Apache-2.0
"""
A paste filter that counts the requests that a server receives.

``paste.filter_factory = tools.benchmarks.sync.request_log:filter_factory``
appends each request's method to a file in the server's recon cache.
"""

import os
from collections import Counter

FILE = 'requests.log'


def path(cache_dir):
    """:returns: the path of the file of the server with this recon cache"""
    return os.path.join(cache_dir, FILE)


def position(log):
    """:returns: where the next entry of a log will be"""
    try:
        return os.stat(log).st_size
    except FileNotFoundError:
        return 0


def since(log, begin):
    """
    :param log: the path of a log
    :param begin: a position in it
    :returns: a Counter of the methods since then
    """
    if position(log) == begin:
        return Counter()
    with open(log) as entries:
        entries.seek(begin)
        return Counter(entries.read().split())


class RequestLog:
    """
    :param app: the server
    :param log: path of the file to append to
    """

    def __init__(self, app, log):
        self.app = app
        self.fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, env, start_response):
        os.write(self.fd, env['REQUEST_METHOD'].encode('ascii') + b'\n')
        return self.app(env, start_response)


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    log = path(global_conf['recon_cache_path'])
    return lambda app: RequestLog(app, log)
