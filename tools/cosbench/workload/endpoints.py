# SPDX-License-Identifier: Apache-2.0
"""Several addresses of one storage, asked in turn.

``endpoints=URL,URL,...`` in the config of a storage: a worker sends one
operation to each, one after the other, and results have figures of each.
"""

import re

from cosbench.errors import ConfigError
from cosbench.workload.config import Config

MAX_ENDPOINTS = 32
_URL = re.compile(r'https?://[^\s/?#@,]{1,200}')


def endpoints(config: Config) -> tuple[str, ...]:
    """Return the addresses that a storage is asked at.

    :returns: URLs; none: there is one address, which is elsewhere
    :raises ConfigError: if they are none, one is there twice, or there is
        an endpoint beside them
    """
    if 'endpoints' in config and 'endpoint' in config:
        raise ConfigError.of('endpoint', config['endpoint'],
                             'without endpoints')
    return tuple(config.parsed('endpoints', _parsed, ()))


def place_of(url: str) -> str:
    """Return what reports call an endpoint: host and port."""
    return url.partition('//')[2]


def _parsed(key: str, text: str) -> tuple[str, ...]:
    found = tuple(text.replace(',', ' ').split())
    if not 1 <= len(found) <= MAX_ENDPOINTS or \
            len(set(found)) < len(found) or \
            not all(map(_URL.fullmatch, found)):
        raise ConfigError.of(key, text, '1 to %d different http(s)://host'
                             '[:port] with commas between them'
                             % MAX_ENDPOINTS)
    return found
