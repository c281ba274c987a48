# SPDX-License-Identifier: Apache-2.0
"""The headers that a workload has containers created with.

``cheader.NAME=VALUE`` in a config; as with any key, that of the nearest
element wins.
"""

import re
from typing import Tuple

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.names import printable

#: As ``cprefix`` and ``csuffix``: of containers.
PREFIX = 'cheader.'
#: What the adaptors write: framing, and who asks.
OWN = frozenset((
    'authorization', 'connection', 'content-length', 'expect', 'host',
    'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade',
    'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token',
    'x-auth-token'))
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")


def of_containers(config: Config) -> Tuple[Tuple[str, str], ...]:
    """
    Return the headers to create containers with.

    :param config: all that an operation inherits
    :returns: (name in lower case, value) pairs, sorted
    :raises ConfigError: for a name or a value that no header can have, or
        for a header that a workload may not set
    """
    found = []
    for key, value in sorted(config.items()):
        if key.startswith(PREFIX):
            found.append((_name(key, value), printable(key, value)))
    return tuple(found)


def _name(key: str, value: str) -> str:
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
