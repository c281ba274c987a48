# SPDX-License-Identifier: Apache-2.0
"""Requests to containers, in both modes."""

from swift_lightsync.versioning.core.row_data import hidden_container
from tests.unit.versioning.proxies import Pipeline

HIDDEN = ('a', hidden_container('c'))
ENABLE = {'X-Versions-Enabled': 'true'}
SUSPEND = {'X-Versions-Enabled': 'false'}


class ContainerCase:
    """What holds in both modes."""

    mode = None

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, self.mode)
        self.containers = self.ask.proxy.containers
        self.ask('PUT', 'c', ENABLE)

    def refused(self, reason, container='d'):
        resp = self.ask('POST', container, ENABLE)
        self.assertEqual(400, resp.status_int)
        self.assertIn(reason, resp.body)
        self.assertNotIn(('a', hidden_container(container)),
                         self.containers)

    def there(self):
        return {name for _, name in self.ask.proxy.containers}
