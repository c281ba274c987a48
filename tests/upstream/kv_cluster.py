# SPDX-License-Identifier: Apache-2.0
"""The objects of a cluster whose index servers are run by its managers."""

from swift.common.storage_policy import POLICIES

from swift_losf.daemon.manager import kv_policies
from tests.upstream.kv_content import VolumeContent


class ClusterContent(VolumeContent):
    """The content of all devices, by the policies of /etc/swift."""

    def keeps(self, policy):
        return policy in kv_policies(POLICIES)


CONTENT = ClusterContent()
