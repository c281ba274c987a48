# SPDX-License-Identifier: Apache-2.0
"""The headers that a workload has sent with its requests.

``cheader.NAME=VALUE`` in a config: with the creation of a container;
``header.NAME=VALUE``: with requests for objects. As with any key, that of the
nearest element wins.
"""

import re

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.model import Headers
from cosbench.workload.names import printable

#: Of containers, as ``cprefix`` and ``csuffix``; of objects.
CONTAINER, OBJECT = 'cheader.', 'header.'
#: What the adaptors write: framing, and who asks.
OWN = frozenset((
    'authorization', 'connection', 'content-length', 'expect', 'host',
    'keep-alive', 'range', 'te', 'trailer', 'transfer-encoding', 'upgrade',
    'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token',
    'x-auth-token'))
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")


def headers(config: Config, prefix: str) -> Headers:
    """Return the headers that a config has sent.

    :param prefix: ``CONTAINER`` or ``OBJECT``
    :returns: (name in lower case, value) pairs, sorted
    :raises ConfigError: for a name or a value that no header can have, or
        for a header that a workload may not set
    """
    return tuple(
        (_name(key, value, prefix), printable(key, value))
        for key, value in sorted(config.items()) if key.startswith(prefix))


def _name(key: str, value: str, prefix: str) -> str:
    name = key[len(prefix):]
    if not _NAME.fullmatch(name):
        # Its name may have line breaks, too.
        raise ConfigError.of(
            repr(key)[1:-1], value, 'named by letters, digits and '
            "!#$%&'*+-.^_`|~ after " + prefix)
    if name in OWN:
        raise ConfigError.of(key, value, 'another header: the adaptor '
                             'sets this one')
    return name
