# SPDX-License-Identifier: Apache-2.0
"""
Primary-role writes: the proxy app, and an object server that logs them.

In functional tests the default policy has them. That the suite passes proves
nothing of replication: one copy is all that it asks for, and no converger
runs. In unit tests no policy has them: the app is to be stock Swift's then.
"""

import os

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proxy_server import Application
from tests.upstream.subject import Row, Subject

FUNCTIONAL = 'SWIFT_TEST_IN_PROCESS'


class PrimaryRoleApplication(Application):
    """The proxy app, with the options of its policy where they matter."""

    def __init__(self, conf, *args, **kwargs):
        if FUNCTIONAL in os.environ:
            conf = dict(conf, policy_config={
                '0': {'primary_role_writes': 'true'}})
        super().__init__(conf, *args, **kwargs)


class UnboundedController(ObjectController):
    """The object server, which waits for no converger."""

    def __init__(self, conf, *args, **kwargs):
        super().__init__(dict(conf, max_lag_entries='0', max_lag_seconds='0'),
                         *args, **kwargs)


SUBJECT = Subject(
    rows=(
        Row('swift.proxy.server:Application',
            'tests.upstream.subjects.proar:PrimaryRoleApplication'),
        Row('swift.obj.server:ObjectController',
            'tests.upstream.subjects.proar:UnboundedController')),
    suites=('proxy',))
