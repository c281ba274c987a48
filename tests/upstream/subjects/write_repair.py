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
The versioning filter in the mode write-repair, and the proxy app that it
needs, where Swift has its own object versioning.
"""

from tests.upstream.subject import Row, Subject

SUBJECT = Subject(
    rows=(
        Row('swift.proxy.server:Application',
            'swift_lightsync.proxy_server:Application'),
        Row('swift.common.middleware.versioned_writes:filter_factory',
            'tests.upstream.versioned:legacy_factory'),
        Row('swift.common.middleware.symlink:filter_factory',
            'tests.upstream.versioned:write_repair_factory')),
    suites=('proxy',))
