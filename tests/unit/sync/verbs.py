# SPDX-License-Identifier: Apache-2.0
"""What the tests of LIGHTSYNC share: messages, and whom they are asked of."""

from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.swob import Request

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.shared_set import SharedSet, leaf_of
from swift_lightsync.sync.wire.exchange_message import encode_suffixes
from swift_lightsync.sync.wire.sync_message import (
    Verdict,
    decode_reply,
    encode_roots,
)
from tests.unit.sync.fixtures import SwiftTestCase

EMPTY = merkle.root({})
OTHER = 'ab' * 16


def slice_roots(items, count, roots):
    """Compute the roots of the slices of a set anew."""
    return tuple(merkle.top([leaf_of(item, roots[item]) for item in part])
                 for part in items.slices(count))


def message(roots, slices=None, with_list=True, device='sda', policy=0):
    """Return a sync message.

    :param roots: a dict, partition to root
    :param slices: how many; default: one for each partition
    """
    named = {(policy, device, partition): root
             for partition, root in roots.items()}
    return encode_roots(SharedSet(named), slice_roots(
        SharedSet(named), slices or len(roots), named), with_list)


ONE = message({0: OTHER})
#: What is asked of one device, whose name the path has.
SUFFIXES = encode_suffixes([0])


class VerbTestCase(SwiftTestCase):

    devices = ('sda', 'sdb')

    def setUp(self):
        super().setUp()
        self.app = self.controller()
        self.disk = self.manager()

    def controller(self, **conf):
        return ObjectController(dict(self.conf, **conf), logger=self.logger)

    def of_two_policies(self):
        """Return a controller that knows a second policy as well."""
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES', StoragePolicyCollection(
                [self.policy, StoragePolicy(1, 'one')])))
        return self.controller()

    def root_of(self, partition, device='sda'):
        return merkle.root(self.disk._get_hashes(
            device, partition, self.policy)[1])

    def request(self, body, path='/sda/roots', app=None, **headers):
        headers = {name.replace('_', '-'): value
                   for name, value in headers.items() if value is not None}
        headers.setdefault('X-Backend-Storage-Policy-Index', '0')
        environ = {'REQUEST_METHOD': 'LIGHTSYNC'}
        if hasattr(body, 'read'):
            environ['wsgi.input'] = body
        request = Request.blank(path, environ, headers=headers)
        if not hasattr(body, 'read'):
            request.body = body
            if 'Content-Length' in headers:
                request.headers['Content-Length'] = headers['Content-Length']
        return request.get_response(app or self.app)

    def reply(self, body, slices, devices=1, **kwargs):
        response = self.request(body, **kwargs)
        self.assertEqual(200, response.status_int, response.body)
        self.assertEqual('application/octet-stream', response.content_type)
        return decode_reply(response.body, slices, devices)

    def differing(self, roots, device='sda', policy=0, **kwargs):
        """The partitions that differ, asked of in one message."""
        verdict, found = self.reply(
            message(roots, device=device, policy=policy), len(roots),
            1 if roots else 0, **kwargs)
        self.assertIs(Verdict.COMPARED, verdict)
        return {sorted(roots)[index] for index in found.differing}

    def refused(self, status, body, reason='^', **kwargs):
        response = self.request(body, **kwargs)
        self.assertEqual(status, response.status_int, response.body)
        self.assertRegex(response.body.decode(), reason)
        self.assertEqual([], self.logger.at('ERROR'))
