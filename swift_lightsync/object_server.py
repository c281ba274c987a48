# SPDX-License-Identifier: Apache-2.0
"""
The paste app ``egg:swift-lightsync#object``: Swift's, with LIGHTSYNC and the
log of primary-role writes.
"""

from swift.obj import server

from swift_lightsync.proar.object_verbs import PrimaryRoleVerbs
from swift_lightsync.sync.verb import LightSyncVerb


class ObjectController(LightSyncVerb, PrimaryRoleVerbs,
                       server.ObjectController):
    """
    Swift's object-server, which also answers sync messages, and logs writes
    that are a primary role's.
    """


def app_factory(global_conf, **local_conf):
    """paste.deploy app factory for creating WSGI object server apps"""
    return ObjectController(dict(global_conf, **local_conf))
