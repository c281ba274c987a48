# SPDX-License-Identifier: Apache-2.0
"""The keys that several adaptors have.

COSBench's are ``timeout`` (milliseconds) and, in some of its adaptors,
``no_verify_ssl``; ``cacert`` is new.
"""

from cosbench.adaptors.http1 import Client
from cosbench.adaptors.http1.url import trust
from cosbench.errors import ConfigError
from cosbench.workload.config import REQUIRED

MAX_TIMEOUT = 24 * 3600 * 1000


def one_line(config, key, default=REQUIRED):
    """Return the value of a key that must be one line.

    :returns: a text that can be the value of a header
    :raises ConfigError: if it cannot, without showing it: it is a secret
    """
    text = config.text(key, default)
    if set(text) & set('\r\n\0'):
        raise ConfigError('%s: must be one line' % key)
    return text


class Connector:
    """Makes clients that trust and wait as a config says.

    :param config: timeout, cacert, no_verify_ssl
    :param timeout: of a config without one, milliseconds
    :param via: the ``Url`` of a proxy, or None
    :raises ConfigError: if a value is wrong
    """

    def __init__(self, config, timeout=30000, via=None):
        #: Seconds; 0: no limit.
        self._timeout = config.integer(
            'timeout', timeout, most=MAX_TIMEOUT) / 1000
        self._via = via
        # Read now: a wrong one is found before anything runs.
        self._context = trust(config.text('cacert', None) or None,
                              not config.flag('no_verify_ssl', False))

    def client(self, url):
        """Return a ``Client`` for the server of the ``Url``."""
        return Client(url, self._timeout, self._context
                      if url.scheme == 'https' else None, self._via)
