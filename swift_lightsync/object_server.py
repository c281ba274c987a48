# SPDX-License-Identifier: Apache-2.0
"""The paste app ``egg:swift-lightsync#object``: Swift's object-server, with
LIGHTSYNC, PROAR and the log of primary-role writes.
"""

from collections.abc import Mapping
from typing import Any

from swift.obj import server

from swift_lightsync.proar.server.object_verbs import PrimaryRoleVerbs
from swift_lightsync.proar.server.push_verb import PushVerb
from swift_lightsync.sync.verb import LightSyncVerb


class ObjectController(LightSyncVerb, PushVerb, PrimaryRoleVerbs,
                       server.ObjectController):
    """Swift's object-server, which also answers sync messages, takes pushes,
    and logs the writes of primary roles.
    """


def app_factory(global_conf: Mapping[str, Any],
                **local_conf: Any) -> ObjectController:
    """Return the object-server, as paste.deploy wants it."""
    return ObjectController(dict(global_conf, **local_conf))
