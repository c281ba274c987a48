# SPDX-License-Identifier: Apache-2.0
"""The paste app ``egg:swift-lightsync#container``: Swift's container-server,
with the verb VERSION.
"""

from collections.abc import Mapping
from typing import Any

from swift.container import server

from swift_lightsync.versioning.server.verb import Creation, VersionVerb


class ContainerController(Creation, VersionVerb, server.ContainerController):
    """Swift's container-server, which also keeps the versions of objects, and
    shows no container without its metadata.
    """


def app_factory(global_conf: Mapping[str, Any],
                **local_conf: Any) -> ContainerController:
    """Return the container-server, as paste.deploy wants it."""
    return ContainerController(dict(global_conf, **local_conf))
