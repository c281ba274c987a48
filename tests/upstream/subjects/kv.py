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
"""Objects in volumes: the diskfile classes of LOSF."""

from tests.upstream.subject import Row, Subject

SUBJECT = Subject(
    rows=tuple(Row('swift.obj.diskfile:' + name,
                   'swift_losf.kvfile:KV' + name)
               for name in ('DiskFileManager', 'DiskFile', 'DiskFileReader',
                            'DiskFileWriter')),
    suites=('diskfile', 'server', 'ssync', 'auditor', 'replicator',
            'expirer', 'updater'),
    content='swift_losf.paths')
