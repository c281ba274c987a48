# SPDX-License-Identifier: Apache-2.0
"""
Counts what the nodes of one cluster send each other, and nothing else.

A paste filter of the replication servers notes each request's method and the
sizes of its bodies; rsync daemons log what they send and receive. So the
traffic of users, of other daemons and of other programs does not count.
"""

import os
import re
from collections import Counter

#: what the rsync daemons carry, beside the methods
RSYNC = 'rsync'
RSYNC_BYTES = re.compile(r'sent (\d+) bytes  received (\d+) bytes')


def log_path(cache_dir: str) -> str:
    """Return the path of the log of the server with this recon cache."""
    return os.path.join(cache_dir, 'traffic.log')


def position(path: str) -> int:
    """Return where the next entry of a log will be."""
    return os.path.getsize(path) if os.path.exists(path) else 0


def since(path: str, begin: int) -> tuple[Counter, Counter]:
    """
    Read a log of the filter, or of an rsync daemon, from a position on.

    :returns: Counters: how many requests a method has, and how many bytes
    """
    requests: Counter = Counter()
    sizes: Counter = Counter()
    if position(path) > begin:
        with open(path, errors='replace') as entries:
            entries.seek(begin)
            for line in entries:
                moved = RSYNC_BYTES.search(line)
                if moved:
                    sizes[RSYNC] += sum(map(int, moved.groups()))
                elif line.count(' ') == 1:
                    method, size = line.split()
                    requests[method] += 1
                    sizes[method] += int(size)
    return requests, sizes


class Traffic:
    """
    The filter.

    :param app: the server
    :param path: of the log
    """

    def __init__(self, app, path: str) -> None:
        self.app = app
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, env, start_response):
        def answer(status, headers, *args):
            sizes = [env.get('CONTENT_LENGTH'), *(
                value for name, value in headers
                if name.lower() == 'content-length')]
            os.write(self.fd, b'%s %d\n' % (
                env['REQUEST_METHOD'].encode('ascii'),
                sum(int(size) for size in sizes if size)))
            return start_response(status, headers, *args)

        return self.app(env, answer)


def filter_factory(global_conf, **_local_conf):
    """paste.deploy filter factory"""
    path = log_path(global_conf['recon_cache_path'])
    return lambda app: Traffic(app, path)
