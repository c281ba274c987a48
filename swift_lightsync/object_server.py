# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
