# SPDX-License-Identifier: Apache-2.0
"""Requests to a site that are not its peers', or not what these have sent."""

import http.client
import json
import os
import time
from dataclasses import replace
from hashlib import sha256

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.shipment import Shipment
from swift_lightsync.versioning.core.shipping import MAX_HEAD
from swift_lightsync.versioning.core.signature import (
    HEADER,
    PATH,
    Claim,
    trailer,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Version
from tests.functional.sites_case import SitesCase

#: A site that is not there: what paris had made rome would not tell it of.
MAKER = 'oslo'


class TestForgeries(SitesCase):
    """What is sent to a proxy of rome."""

    fields = {**SitesCase.fields, 'count': 2}

    def setUp(self):
        super().setUp()
        self.put('rome', 'o', b'genuine')
        self.before = self.wait_until_same(1)
        spec = self.sites.clusters['rome'].spec
        self.address = '127.0.0.1', spec.port('proxy-server')
        self.key = spec.peers['paris']['key'].encode()
        self.account = self.client('rome').get_auth()[0].rpartition('/')[2]

    def request(self, key=None, data=b'forged', seconds=None, **values):
        """:param values: of the version's JSON
        :returns: (headers, body) of a shipment, signed with a key
        """
        stamp = Stamp(int(time.time() * TICKS), 1 << 32)
        frame = Shipment(self.account, self.container, Entry(
            'o', Version.after((), stamp, MAKER), len(data), 'e'),
            length=len(data)).to_frame().to_json()
        frame['what']['version'].update(values)
        raw = shipping.pack([json.dumps(frame).encode()])
        claim = Claim.of(
            'paris', int(seconds or time.time()), os.urandom(16).hex(),
            raw).signed(key or self.key, 'rome', len(raw) + len(data) + 64)
        return {HEADER: str(claim)}, \
            raw + data + trailer(key or self.key, claim.mac,
                                 sha256(data).hexdigest())

    def send(self, headers, body, method='POST', path=None):
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        self.addCleanup(connection.close)
        try:
            connection.request(method, path or PATH, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it answers before it has read all
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            return response.status
        result, = json.loads(body)['results']
        return result['status']

    def assert_nothing_changed(self):
        self.assertEqual(self.before, self.rows('rome'))
        self.assert_served(self.before)

    def test_what_is_signed_is_taken(self):
        self.assertEqual(201, self.send(*self.request()))
        self.assertEqual(2, len(self.wait_until_same(2)))

    def test_what_is_not_signed_with_the_key_is_refused(self):
        headers, body = self.request(key=b'x' * 64)
        self.assertEqual(403, self.send(headers, body))
        del headers[HEADER]
        self.assertEqual(401, self.send(headers, body))
        self.assert_nothing_changed()

    def test_what_was_sent_before_is_refused(self):
        headers, body = self.request(kind='delete', deleted=True, size=0,
                                     type='application/x-deleted;'
                                     'swift_versions_deleted=1', data=b'')
        self.assertEqual(201, self.send(headers, body))
        for _ in range(3):
            self.assertEqual(403, self.send(headers, body))

    def test_what_was_altered_is_refused(self):
        headers, body = self.request()
        self.assertEqual(403, self.send(headers, body.replace(
            b'"object": "o"', b'"object": "p"')))
        headers, body = self.request()
        self.assertGreaterEqual(self.send(headers, body.replace(
            b'forged', b'Forged')), 400)
        headers, body = self.request()
        self.assertEqual(403, self.send(headers, body, path=PATH + 'x'))
        self.assert_nothing_changed()

    def test_what_is_too_old_too_large_or_of_the_future_is_refused(self):
        self.assertEqual(403, self.send(*self.request(
            seconds=time.time() - 1000)))
        headers, body = self.request()
        headers[HEADER] = str(replace(Claim.parse(headers[HEADER]),
                                      length=MAX_HEAD + 1))
        self.assertEqual(403, self.send(headers, body))
        self.assertEqual(400, self.send(*self.request(object='o' * 5000)))
        ahead = str(Stamp(int((time.time() + 1000) * TICKS), 1 << 32))
        self.assertEqual(409, self.send(*self.request(
            id=ahead, vector='%s:%s' % (MAKER, ahead))))
        self.assert_nothing_changed()

    def test_what_clients_say_of_versions_counts_for_nothing(self):
        ahead = str(Stamp(int((time.time() + 5000) * TICKS), 1 << 32))
        names = ('X-Timestamp', 'X-Site-Versions-Vector',
                 'X-Site-Versions-Site', 'X-Site-Versions-Answer',
                 'X-Object-Sysmeta-Site-Versions-Vector',
                 'X-Object-Sysmeta-Site-Versions-Id',
                 'X-Backend-Timestamp', 'X-Object-Version-Id')
        self.client('rome').put_object(
            self.container, 'o', b'mine', headers=dict.fromkeys(
                names, ahead))
        rows = self.wait_until_same(2)
        for row in rows:
            self.assertLess(Stamp.parse(row['version_id']).seconds,
                            time.time() + 1)
        headers = self.client('paris').head_object(self.container, 'o')
        self.assertNotIn(ahead, headers.values())
