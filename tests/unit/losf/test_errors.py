# SPDX-License-Identifier: Apache-2.0
"""IndexUnavailable: an unavailable device, and a response."""

import os
import unittest
from unittest import mock

from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.swob import HTTPException, Request
from swift.obj.diskfile import DiskFile
from swift.obj.server import ObjectController

from swift_losf.errors import IndexUnavailable
from swift_losf.index.index_client import IndexClient
from tests.unit.losf.index_world import HASH
from tests.unit.sync.fixtures import SwiftTestCase


class TestIndexUnavailable(unittest.TestCase):

    def test_it_is_an_unavailable_device_and_a_response(self):
        error = IndexUnavailable('no luck')
        self.assertIsInstance(error, DiskFileDeviceUnavailable)
        self.assertIsInstance(error, HTTPException)
        self.assertEqual('no luck', str(error))
        self.assertEqual(('507 Insufficient Storage', b'no luck\n'),
                         (error.status, error.body))
        self.assertEqual(503, IndexUnavailable('soon', 503).status_int)


class TestInObjectServer(SwiftTestCase):
    """What an unavailable index is to Swift."""

    METHODS = {'PUT': {'Content-Length': '0', 'Content-Type': 'x'},
               'POST': {}, 'GET': {}, 'HEAD': {}, 'DELETE': {}}

    def answers(self, where):
        """
        The status of each method, for a client of an index that is not there.

        :param where: the name of the method of a diskfile that asks it
        """
        server = ObjectController(self.conf, logger=self.logger)
        client = IndexClient(os.path.join(self.root, 'sock'))

        def ask(*args, **kwargs):
            return client.list_hash(1, HASH)
        found = {}
        with mock.patch.object(DiskFile, where, ask):
            for method, headers in self.METHODS.items():
                request = Request.blank(
                    '/sda/0/a/c/o', method=method, body=b'',
                    headers={'X-Timestamp': '1', **headers})
                found[method] = request.get_response(server).status_int
        return found

    def test_an_index_that_opening_a_file_asks_for_is_a_507(self):
        self.assertEqual(dict.fromkeys(self.METHODS, 507),
                         self.answers('open'))
        self.assertFalse(self.logger.at('ERROR'))

    def test_an_index_that_creating_a_file_asks_for_is_a_507(self):
        self.assertEqual(507, self.answers('writer')['PUT'])
        self.assertFalse(self.logger.at('ERROR'))

    def test_any_other_error_there_would_be_a_500(self):
        with mock.patch.object(IndexClient, 'list_hash',
                               side_effect=RuntimeError):
            self.assertEqual(dict.fromkeys(self.METHODS, 500),
                             self.answers('open'))
