# SPDX-License-Identifier: Apache-2.0
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
