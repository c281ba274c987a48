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
"""The names that LightSync uses on the wire and on disk."""

#: What of a device a LIGHTSYNC request is about, the end of its path: roots of
#: partitions,
ROOTS = 'roots'
#: the suffix hashes of partitions,
SUFFIXES = 'suffixes'
#: suffixes that were written to past the server, by rsync,
MISSING = 'missing'
REHASH = 'rehash'
#: or a notice.
NOTICE = 'notice'

POLICY_HEADER = 'X-Backend-Storage-Policy-Index'
#: Who sends a sync message: IP:port/device.
SENDER_HEADER = 'X-Backend-Lightsync-Sender'
#: In the answer: seconds since the rounds of the device were last played.
IDLE_HEADER = 'X-Backend-Lightsync-Idle'

#: In each partition directory: the root of the partition.
CHANGED_FILE = 'changed.pkl'
#: In recon_cache_path: the failure table.
FAILURES_FILE = 'lightsync-failures.json'
#: There, of each device: its mtime is when its rounds were last played.
ROUNDS_FILE = 'lightsync-rounds.%s'
