# SPDX-License-Identifier: Apache-2.0
"""The paste app ``egg:swift-lightsync#proxy``.

It is Swift's proxy-server with PROAR, and with writes that leave no rows for
the versioning filter.
"""

import copy
from functools import partial

from swift.common.registry import register_swift_info
from swift.proxy import server

from swift_lightsync.common.rowless import rowless
from swift_lightsync.proar.proxy.controller import PrimaryRoleController
from swift_lightsync.proar.proxy.policy_options import primary_role_policies
from swift_lightsync.proar.proxy.role_application import RoleApplication


class RowlessPrimaryRole(PrimaryRoleController):
    """Runs each request by controllers that heed ``ROWLESS``."""

    def _attempt(self, cls, *args):
        return super()._attempt(rowless(cls), *args)


class Application(RoleApplication):
    """Swift's proxy-server, with primary-role writes where they are set."""

    def __init__(self, conf, *args, **kwargs):
        super().__init__(conf, *args, **kwargs)
        self.primary_role_policies = primary_role_policies(
            conf or {}, self.get_policy_options)
        controllers = self.obj_controller_router.policy_to_controller_cls
        for index, controller in controllers.items():
            controllers[index] = rowless(controller)
        for policy, options in self.primary_role_policies.items():
            self._send_to_all_roles(policy)
            controllers[policy.idx] = partial(
                RowlessPrimaryRole, policy=policy, options=options)
        if self.primary_role_policies:
            register_swift_info('proar', policies=sorted(
                policy.name for policy in self.primary_role_policies))

    def _send_to_all_roles(self, policy):
        """Have writes that fail over go to all roles, near or far.

        Swift's write affinity would have hand-offs near by take them, which
        no primary role asks.
        """
        options = copy.copy(self.get_policy_options(policy))
        options.write_affinity_is_local_fn = None
        self._override_options[policy.idx] = options


def app_factory(global_conf, **local_conf):
    """Make a proxy-server, as paste.deploy asks for one."""
    conf = dict(global_conf, **local_conf)
    conf['policy_config'] = server.parse_per_policy_config(conf)
    app = Application(conf)
    app.check_config()
    return app
