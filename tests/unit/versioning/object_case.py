# SPDX-License-Identifier: Apache-2.0
"""What tests of requests to objects share."""

from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.proxies import Pipeline


class ObjectCase(SwiftTestCase):
    """A versioned container in a mode."""

    mode = None
    options = {}

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, self.mode, **self.options)
        self.ask('PUT', 'c', {'X-Versions-Enabled': 'true'})

    def suspend(self):
        self.ask('POST', 'c', {'X-Versions-Enabled': 'false'})

    def status(self, method, path='c/o', **more):
        return self.ask(method, path, **more).status_int

    def body(self, query='', path='c/o'):
        resp = self.ask('GET', path, query=query)
        return resp.body if resp.status_int == 200 else resp.status_int

    def one(self, version, path='c/o'):
        return self.body('version-id=' + version, path)
