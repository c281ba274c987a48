# SPDX-License-Identifier: Apache-2.0
"""Which nodes are watched: the arguments of ``--watch``."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from cosbench.errors import ConfigError

FORM = '[NAME=]URL of node_exporter or cosbench watch, as ' \
    'node1=http://10.0.0.1:19100, and ,recon=URL after it for that of an ' \
    'object server'
#: Characters of a name.
_LONGEST = 100


@dataclass(frozen=True)
class Target:
    """A node that is watched."""

    name: str
    #: Of its metrics.
    url: str
    #: Of a server with Swift's recon, or None.
    recon: str | None = None


def target(text: str) -> Target:
    """Parse what ``--watch`` names.

    :returns: the node
    :raises ConfigError: if it is none
    """
    main, _, recon = text.partition(',recon=')
    name, equals, url = main.partition('=')
    if not equals or '/' in name:
        name, url = '', main
    if not is_url(url) or recon and not is_url(recon) or \
            len(name) > _LONGEST:
        raise ConfigError.of('watch', text, FORM)
    parts = urlsplit(url)
    if not parts.path.strip('/'):
        url = url.rstrip('/') + '/metrics'
    return Target(name or parts.netloc[:_LONGEST], url,
                  recon.rstrip('/') or None)


def is_url(text: str) -> bool:
    """Return whether a text is a URL of http or https that can be asked."""
    try:
        found = urlsplit(text)
        # Asking for a port that is none raises, and so does the name.
        return found.scheme in ('http', 'https') and bool(
            (found.hostname or '').encode('idna')) and found.port != 0 and \
            text.isascii() and text.isprintable() and ' ' not in text
    except ValueError:
        return False
