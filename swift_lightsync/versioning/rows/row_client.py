# SPDX-License-Identifier: Apache-2.0
"""
Requests about rows to the replicas of a container: to one replica, or to a
majority.
"""

import json
import os
from http.client import HTTPException
from random import sample
from typing import List
from urllib.parse import unquote, urlencode

from swift.common.bufferedhttp import http_connect
from swift.common.concurrency import Empty, Queue, Timeout, spawn_n
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
#: Seconds after which a replica that has not answered is slow.
SLOW = 0.1


class RowsUnavailable(Exception):
    """
    Too few replicas of a container answered.

    :param container: its path
    :param statuses: a list of all answers, 0 for a node without an answer
    :param needed: how many good answers are needed
    :param missing: whether a majority says that there is no such container
    """

    def __init__(self, container, statuses, needed, missing=False):
        super().__init__(
            'rows of %r: %d good answers of its replicas are needed, all '
            'answers are: %s' % (container, needed,
                                 ', '.join(map(str, statuses)) or 'none'))
        self.container = container
        self.statuses = statuses
        self.needed = needed
        self.missing = missing


def unavailable(place, answers, needed):
    """Return the ``RowsUnavailable`` that describes some answers."""
    missing = sum(answer.missing for answer in answers) >= needed
    return RowsUnavailable('/%s/%s' % place,
                           [answer.status for answer in answers], needed,
                           missing)


def majority(replicas):
    return replicas // 2 + 1


class Answer:
    """
    The answer of one replica, read once.

    :param node: the node's dict from the ring
    :param status: of HTTP, or ``NO_ANSWER``
    :param headers: a ``HeaderKeyDict``
    :param records: the records of a listing, dicts
    """

    def __init__(self, node, status, headers=None, records=()):
        headers = headers or {}
        self.node = node
        self.status = status
        self.records = records
        self.good = is_success(status)
        self.missing = status == HTTP_NOT_FOUND
        #: (account, container) it directs to, or None
        self.shard = None
        if status == HTTP_MOVED_PERMANENTLY:
            self.shard = tuple(unquote(
                headers.get('Location', '')).split('/', 3)[1:3])
        #: whether it lists shards instead of rows
        self.is_of_shards = headers.get('X-Backend-Record-Type') == 'shard'
        #: whether the replica, which lists rows, may redirect writes
        self.may_have_shards = not self.is_of_shards and config_true_value(
            headers.get('X-Container-Sysmeta-Sharding'))
        #: whether the replica still has rows that no shard has yet
        self.is_sharding = \
            headers.get('X-Backend-Sharding-State') == 'sharding'


class RowClient:
    """
    Sends requests about rows to container servers.

    :param app: has ``container_ring``, ``conn_timeout``, ``node_timeout``
        (seconds) and, in a proxy, ``error_limiter``
    :param connect: a function like swift.common.bufferedhttp.http_connect
    """

    def __init__(self, app, logger, policy_index, trans_id=None,
                 connect=None):
        self.app = app
        self.ring = app.container_ring
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
        Send a request to one node.

        :param path: text, unquoted
        :param headers: of this request, beside those of all requests
        :param parameters: of the query string, a dict
        :returns: an ``Answer``; an error of the node is an answer, too
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
            good = is_success(response.status)
            records = json.loads(body) \
                if body and good and method == 'GET' else ()
        except (OSError, HTTPException, Timeout, ValueError) as error:
            self._failed(node, method, path, error)
            return Answer(node, NO_ANSWER)
        if is_server_error(response.status):
            self._failed(node, method, path, response.status)
        return Answer(node, response.status,
                      HeaderKeyDict(response.getheaders()), records)

    def ask(self, place, parameters, kind):
        """
        Ask a majority, and another replica for each that fails or is slow.

        :param place: (account, container)
        :param parameters: of the query string, a dict
        :param kind: of records
        :returns: the good answers, as many as a majority
        :raises RowsUnavailable: if too few replicas answered
        """
        part, nodes = self.ring.get_nodes(*place)
        needed = majority(len(nodes))
        # Who failed often of late is asked last.
        rest = sorted(sample(nodes, len(nodes)), key=self.limited)
        good: List[Answer] = []
        failed: List[Answer] = []
        queue, pending, slow = Queue(), 0, 0
        while len(good) < needed:
            while rest and pending < needed - len(good) + slow:
                spawn_n(self._put_answer, queue, rest.pop(0), part, place,
                        parameters, kind)
                pending += 1
            if not pending:
                raise unavailable(place, good + failed, needed)
            try:
                answer = queue.get(timeout=SLOW if rest else None)
            except Empty:
                slow += 1
                continue
            pending -= 1
            (good if answer.good else failed).append(answer)
        return good

    def _put_answer(self, queue, node, *what):
        answer = None
        try:
            answer = self.ask_one(node, *what)
        finally:
            # Who waits must not wait for ever, whatever went wrong.
            queue.put(answer or Answer(node, NO_ANSWER))

    def ask_one(self, node, part, place, parameters, kind):
        """Return the ``Answer`` of one replica; see ``ask``."""
        return self.request(
            node, part, 'GET', '/%s/%s' % place,
            {'X-Backend-Record-Type': kind,
             'X-Backend-Record-Shard-Format': 'namespace'}, parameters)

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
        """
        Check whether a node has had so many errors that it is left alone.
        """
        return self.limiter is not None and self.limiter.is_limited(node)
