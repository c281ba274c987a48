# SPDX-License-Identifier: Apache-2.0
"""Counts the writes that a device got from proxies: by the servers' logs."""

import os
import re
from collections import Counter


class RequestLog:
    """
    The logs of the object-servers of a cluster, from now on. The convergers
    push to other servers, those of the replication network.

    :param paths: of the logs
    :param account: whose objects are counted
    """

    def __init__(self, paths, account):
        self._begins = {path: os.path.getsize(path) if os.path.exists(path)
                        else 0 for path in paths}
        self._pattern = re.compile(r' "PUT /(\w+)/\d+/%s/' % account)

    def per_device(self):
        """:returns: a Counter: device -> its PUTs since then"""
        found = Counter()
        for path, begin in self._begins.items():
            if os.path.exists(path):
                with open(path, errors='replace') as log:
                    log.seek(begin)
                    found.update(self._pattern.findall(log.read()))
        return found
