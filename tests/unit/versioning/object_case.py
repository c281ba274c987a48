# SPDX-License-Identifier: Apache-2.0
"""What tests of requests to containers and objects share."""

from swift_lightsync.versioning.core.row_data import hidden_container
from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.proxies import Pipeline

HIDDEN = ('a', hidden_container('c'))
ENABLE = {'X-Versions-Enabled': 'true'}
SUSPEND = {'X-Versions-Enabled': 'false'}


class ObjectCase(SwiftTestCase):
    """A versioned container in a mode."""

    mode = None
    options = {}

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, self.mode, **self.options)
        self.ask('PUT', 'c', ENABLE)

    def suspend(self):
        self.ask('POST', 'c', SUSPEND)

    def status(self, method, path='c/o', **more):
        return self.ask(method, path, **more).status_int

    def body(self, query='', path='c/o'):
        resp = self.ask('GET', path, query=query)
        return resp.body if resp.status_int == 200 else resp.status_int

    def one(self, version, path='c/o'):
        return self.body('version-id=' + version, path)


class ContainerCase(ObjectCase):

    def setUp(self):
        super().setUp()
        self.containers = self.ask.proxy.containers

    def refused(self, reason, container='d'):
        resp = self.ask('POST', container, ENABLE)
        self.assertEqual(400, resp.status_int)
        self.assertIn(reason, resp.body)
        self.assertNotIn(('a', hidden_container(container)),
                         self.containers)

    def there(self):
        return {name for _, name in self.ask.proxy.containers}
