# SPDX-License-Identifier: Apache-2.0
"""One request about rows to one replica of a container."""

import json
import os
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Dict
from urllib.parse import unquote, urlencode

from swift.common.bufferedhttp import http_connect
from swift.common.concurrency import Timeout
from swift.common.exceptions import ConnectionTimeout
from swift.common.header_key_dict import HeaderKeyDict
from swift.common.http import (
    HTTP_INSUFFICIENT_STORAGE,
    HTTP_MOVED_PERMANENTLY,
    HTTP_NOT_FOUND,
    is_server_error,
    is_success,
)
from swift.common.utils import config_true_value

#: Where a node did not answer.
NO_ANSWER = 0


@dataclass(frozen=True)
class Answer:
    """
    :param node: of the ring, the dict
    :param status: of HTTP, or ``NO_ANSWER``
    """
    node: dict
    status: int
    headers: Dict[str, str] = field(default_factory=dict)
    body: bytes = b''

    @property
    def good(self):
        return is_success(self.status)

    @property
    def missing(self):
        return self.status == HTTP_NOT_FOUND

    @property
    def shard(self):
        """(account, container) it directs to, or None"""
        if self.status != HTTP_MOVED_PERMANENTLY:
            return None
        return tuple(unquote(self.headers.get('Location', '')).split(
            '/', 3)[1:3])

    @property
    def is_of_shards(self):
        """Whether it lists shards instead of rows."""
        return self.headers.get('X-Backend-Record-Type') == 'shard'

    @property
    def may_have_shards(self):
        """Whether the replica, which lists rows, may redirect writes."""
        return not self.is_of_shards and config_true_value(
            self.headers.get('X-Container-Sysmeta-Sharding'))

    @property
    def is_sharding(self):
        """Whether the replica still has rows that no shard has yet."""
        return self.headers.get('X-Backend-Sharding-State') == 'sharding'

    def records(self):
        return json.loads(self.body) if self.body else []


class RowClient:
    """
    :param app: has ``conn_timeout``, ``node_timeout`` (seconds) and, in a
        proxy, ``error_limiter``
    :param connect: as swift.common.bufferedhttp.http_connect
    """

    def __init__(self, app, logger, policy_index, trans_id=None,
                 connect=None):
        self.app = app
        self.logger = logger
        self.limiter = getattr(app, 'error_limiter', None)
        self.connect = connect or http_connect
        self.headers = {
            'User-Agent': 'versioning %d' % os.getpid(),
            'X-Trans-Id': trans_id or '-',
            'X-Backend-Allow-Reserved-Names': 'true',
            'X-Backend-Storage-Policy-Index': str(policy_index)}

    def request(self, node, part, method, path, headers, parameters=None):
        """
        :param path: text, unquoted
        :param headers: of this request, beside those of all
        :param parameters: of the query string, a dict
        :returns: an ``Answer``; no error of the node raises
        """
        headers = dict(self.headers, **headers)
        query = urlencode(parameters) if parameters else None
        try:
            with ConnectionTimeout(self.app.conn_timeout):
                connection = self.connect(
                    node['ip'], node['port'], node['device'], part, method,
                    path, headers=headers, query_string=query)
            with Timeout(self.app.node_timeout):
                response = connection.getresponse()
                body = response.read()
        except (OSError, HTTPException, Timeout) as error:
            self._failed(node, method, path, error)
            return Answer(node, NO_ANSWER)
        if is_server_error(response.status):
            self._failed(node, method, path, response.status)
        return Answer(node, response.status,
                      HeaderKeyDict(response.getheaders()), body)

    def _failed(self, node, method, path, what):
        self.logger.warning(
            'Rows: %s %r of %s:%s/%s: %s', method, path, node['ip'],
            node['port'], node['device'], what)
        if self.limiter is None:
            return
        if what == HTTP_INSUFFICIENT_STORAGE:
            self.limiter.limit(node)
        else:
            self.limiter.increment(node)

    def limited(self, node):
        """Whether a node is to be left alone, for its many errors."""
        return self.limiter is not None and self.limiter.is_limited(node)
