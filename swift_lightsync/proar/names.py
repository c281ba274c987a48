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
"""The names of PROAR: headers, files, keys, metrics. PROTOCOL.md."""

import os

from swift.common.storage_policy import get_policy_string

#: of a write: the slot of its primary role
SLOT_HEADER = 'X-Backend-Proar-Slot'
#: of a write that does not go to the primary role: it is never refused for lag
FAILOVER_HEADER = 'X-Backend-Proar-Failover'
#: of an answer: why the primary role refuses a write
REFUSED_HEADER = 'X-Backend-Proar-Refused'
LAG = 'lag'

LOG_SUFFIX = '.log'
CURSORS_SUFFIX = '.cursors'


def logs_path(device_path, policy):
    """:returns: the directory of a device's logs of a storage policy"""
    return os.path.join(device_path, get_policy_string('proar', policy))


def log_path(device_path, policy, partition):
    return os.path.join(logs_path(device_path, policy),
                        '%d%s' % (int(partition), LOG_SUFFIX))


def cursors_path(device_path, policy, partition):
    return os.path.join(logs_path(device_path, policy),
                        '%d%s' % (int(partition), CURSORS_SUFFIX))


def marker_key(policy, partition, slot):
    """:returns: memcache's key of a slot that was failed over"""
    return 'proar/%d/%d/%d' % (int(policy), int(partition), slot)
