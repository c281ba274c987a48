# SPDX-License-Identifier: Apache-2.0
"""A site that is sent requests as another one signs them."""

import json
from dataclasses import replace
from hashlib import sha256

from swift.common.swob import Request

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.shipment import Shipment
from swift_lightsync.versioning.core.shipping import Group
from swift_lightsync.versioning.core.signature import (
    HEADER,
    PATH,
    Claim,
    trailer,
)
from swift_lightsync.versioning.core.version import Vector, Version
from tests.unit.versioning.sites_world import (
    ACCOUNT,
    CONTAINER,
    SitesTestCase,
    key_of,
)

NONCE = '%032x'
BODY = b'the data of a version'
DIGEST_LENGTH = 64
HASH = 'a' * DIGEST_LENGTH


def framed(*shipments):
    """Return the head of a pack."""
    return shipping.pack([shipping.encoded(each.to_frame().to_json())
                          for each in shipments])


class ReceiverCase(SitesTestCase):
    """Rome receives; requests are made by hand, as if of Paris."""

    def setUp(self):
        super().setUp()
        self.rome.make_container()
        self.version = self.new_version()
        self.key = key_of('rome', 'paris').encode()
        self.nonces = iter(range(1, 1000))

    def new_version(self, ahead=0):
        stamp = self.paris.clock.tick(self.paris.now() + ahead)
        return Version(stamp, 'paris', Vector({'paris': stamp}))

    def entry(self, obj='o', **values):
        return Entry(obj, replace(self.version, **values), len(BODY), 'e',
                     'text/plain')

    def shipment(self, entry=None, length=len(BODY), container=CONTAINER):
        return Shipment(ACCOUNT, container, entry or self.entry(),
                        length=length)

    def head(self, **values):
        return framed(self.shipment(self.entry(**values)))

    def altered(self, **values):
        """Return the head of a shipment, with other values in its JSON."""
        head = json.loads(self.head())
        frame = head['shipments'][0]
        for name, value in values.items():
            at = next((each for each in (head, frame, frame['what'],
                                         frame['what']['version'])
                       if name in each), head)
            at[name] = value
        return json.dumps(head).encode()

    def offer(self, *versions, container=CONTAINER):
        return shipping.offer([Group(ACCOUNT, container, versions)])

    def request(self, head=None, data=BODY, key=None, receiver='rome',
                **values):
        """A request that is right, but for what is given."""
        head = self.head() if head is None else head
        key = key or self.key
        claim = replace(Claim.of(
            'paris', int(self.rome.now()), NONCE % next(self.nonces), head),
            **values).signed(key, receiver,
                             len(head) + len(data) + DIGEST_LENGTH)
        end = trailer(key, claim.mac, sha256(data).hexdigest())
        return Request.blank(PATH, method='POST', body=head + data + end,
                             headers={HEADER: str(claim)})

    def send(self, req):
        self.assertTrue(self.rome.receiver.handles(req))
        return self.rome.receiver(req)

    def results(self, req):
        """Send a pack; return the status of each shipment."""
        response = self.send(req)
        self.assertEqual(200, response.status_int, response.body)
        return [each['status'] for each in
                json.loads(response.body)['results']]

    def lacking(self, head):
        return json.loads(self.send(self.request(head, b'')).body)

    def assert_refused(self, req, status, *words):
        response = self.send(req)
        self.assertEqual(status, response.status_int, response.body)
        error = json.loads(response.body)['error']
        for word in words:
            self.assertIn(word, error)
        self.assert_untouched()
        return response

    def assert_shipment_refused(self, req, status, *words):
        """Its pack is taken, but it is not."""
        response = self.send(req)
        self.assertEqual(200, response.status_int, response.body)
        result, = json.loads(response.body)['results']
        self.assertEqual(status, result['status'], result)
        for word in words:
            self.assertIn(word, result['error'])
        self.assert_untouched()
        return response

    def assert_untouched(self):
        self.assertIsNone(self.rome.latest('o'))
        self.assertEqual({}, self.rome.data)
