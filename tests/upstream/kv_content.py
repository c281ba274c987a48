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
"""Objects in volumes, where Swift's tests look for files.

The index servers are real, and so is all of swift_losf. Only partitions may
be words here, for Swift's tests name them so: they get numbers.
"""

import os
import zlib
from dataclasses import replace

from swift.common.storage_policy import POLICIES, REPL_POLICY

from swift_losf import layout
from swift_losf.kvfile import KVDiskFileManager
from swift_losf.layout import Layout, ObjectPath
from swift_losf.options import LosfOptions
from swift_losf.store import Store
from tests.upstream.index_host import IndexHost

HOST = IndexHost()
#: above the partitions of any test
WORDS = 1 << 30


def numbered(path):
    """
    :param path: below an objects directory
    :returns: the same with a number for the partition
    """
    parts = path.split('/')
    for at in reversed(range(1, len(parts))):
        if layout.is_objects_name(parts[at - 1]):
            if not parts[at].isdigit():
                parts[at] = str(WORDS + zlib.crc32(parts[at].encode()) % WORDS)
            break
    return '/'.join(parts)


class HostedManager(KVDiskFileManager):
    """The manager with an index server wherever there is a device."""

    def store(self, device_path, policy_index):
        store = super().store(device_path, policy_index)
        HOST.serve(store.layout)
        return store

    def find(self, path):
        return super().find(numbered(path))
