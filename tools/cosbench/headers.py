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
"""The headers that a workload has containers created with.

``cheader.NAME=VALUE`` in a config; as with any key, that of the nearest
element wins.
"""

import re

from tools.cosbench.errors import ConfigError
from tools.cosbench.names import printable

#: As ``cprefix`` and ``csuffix``: of containers.
PREFIX = 'cheader.'
#: What the adaptors write: framing, and who asks.
OWN = frozenset((
    'authorization', 'connection', 'content-length', 'expect', 'host',
    'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade',
    'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token',
    'x-auth-token'))
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")


def of_containers(config):
    """
    :param config: all that an operation inherits
    :returns: (name in lower case, value) pairs, sorted
    :raises ConfigError: for a name or a value that no header can have, or
        one that is not a workload's to set
    """
    found = []
    for key, value in sorted(config.items()):
        if key.startswith(PREFIX):
            found.append((_name(key, value), printable(key, value)))
    return tuple(found)


def _name(key, value):
    name = key[len(PREFIX):]
    if not _NAME.fullmatch(name):
        # Its name may have line breaks, too.
        raise ConfigError.of(
            repr(key)[1:-1], value, 'named by letters, digits and '
            "!#$%&'*+-.^_`|~ after " + PREFIX)
    if name in OWN:
        raise ConfigError.of(key, value, 'another header: the adaptor '
                             'sets this one')
    return name
