# SPDX-License-Identifier: Apache-2.0
"""Where a server is, and whether it is trusted."""

import re
import ssl
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from cosbench.errors import ConfigError

PORTS = {'http': 80, 'https': 443}
_HOST = re.compile('[!-~]+')
_ALLOWED = 'http(s)://host[:port][/path], without user, query, fragment'


class Url(NamedTuple):
    """A server, and a path on it."""

    scheme: str
    host: str
    port: int
    #: Quoted, without a slash at its end: empty for the root.
    path: str = ''

    @property
    def netloc(self):
        """Host and port as in a Host header."""
        host = '[%s]' % self.host if ':' in self.host else self.host
        if self.port == PORTS[self.scheme]:
            return host
        return '%s:%d' % (host, self.port)

    def __str__(self):
        return '%s://%s%s' % (self.scheme, self.netloc, self.path)


def parse_url(key, text):
    """Parse the URL of a server.

    :param key: the setting, for the error
    :param text: a URL
    :raises ConfigError: if it is none of http or https, or has more than
        a host, a port and a path
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
        # A host name as DNS has it.
        host = host and host.encode('idna' if '%' not in host else 'ascii'
                                    ).decode('ascii')
        path = quote(parts.path.rstrip('/'), safe="/%~:@!$&'()*+,;=")
    except (ValueError, UnicodeError):
        raise ConfigError.of(key, text, _ALLOWED) from None
    if parts.scheme not in PORTS or port == 0 or \
            not _HOST.fullmatch(host or '') or '@' in parts.netloc or \
            parts.query or parts.fragment:
        raise ConfigError.of(key, text, _ALLOWED)
    return Url(parts.scheme, host, port or PORTS[parts.scheme], path)


def trust(authorities=None, verify=True):
    """Return what checks the certificates of a server.

    :param authorities: a PEM file with certificates that are trusted, also
        a self-signed one of the server; None: those of the system
    :param verify: False: any certificate is as good
    :returns: an SSL context
    :raises ConfigError: if the file has no certificates
    """
    try:
        context = ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as err:
        raise ConfigError('cacert=%r: must be a PEM file with certificates '
                          '(%s)' % (authorities, err)) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
