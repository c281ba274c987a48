# SPDX-License-Identifier: Apache-2.0
"""versioning-sites.conf: the other sites, their endpoints and the keys that
this site shares with each.
"""

from configparser import Error, RawConfigParser
from dataclasses import dataclass
from typing import Tuple
from urllib.parse import urlsplit

from swift_lightsync.versioning.core.signature import MIN_KEY
from swift_lightsync.versioning.core.version import check_site

FILE = 'versioning-sites.conf'
_OPTIONS = {'endpoints', 'key', 'old_key'}


@dataclass(frozen=True)
class Endpoint:
    """A proxy-server of a site, or a load balancer before several."""
    host: str
    port: int
    tls: bool = False


@dataclass(frozen=True)
class Peer:
    """Another site.

    :param endpoints: each gets its share of the requests
    :param keys: shared with the site, bytes; the first one signs
    """
    name: str
    endpoints: Tuple[Endpoint, ...]
    keys: Tuple[bytes, ...]


def _endpoint(text):
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(''), None
    tls = parts.scheme == 'https'
    if parts.scheme not in ('http', 'https') or not parts.hostname or \
            parts.path.strip('/') or parts.query or parts.username or \
            port == 0:
        raise ValueError('endpoints has %.120r, must be http://host:port or '
                         'https://host:port, with commas between them' % text)
    return Endpoint(parts.hostname, port or (443 if tls else 80), tls)


def _keys(options):
    keys = []
    for name in ('key', 'old_key'):
        key = options.get(name, '').encode('utf8')
        if not key and name == 'old_key':
            continue
        if len(key) < MIN_KEY:
            raise ValueError('%s has %d bytes, must be at least %d' % (
                name, len(key), MIN_KEY))
        keys.append(key)
    return tuple(keys)


def _peer(name, options):
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise ValueError('option %s, allowed are %s' % (
            unknown[0], ', '.join(sorted(_OPTIONS))))
    texts = [each.strip() for each in options.get('endpoints', '').split(',')]
    return Peer(check_site(name), tuple(map(_endpoint, texts)),
                _keys(options))


def parse(text, site, path):
    """Read the text of a versioning-sites.conf.

    :param text: of the file
    :param site: the name of this site
    :param path: of the file, for errors
    :returns: a dict, from the name of each other site to its ``Peer``
    :raises ValueError: if the text has an error
    """
    parser = RawConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except Error as err:
        raise ValueError('%s: %s' % (path, err)) from err
    peers = {}
    for name in parser.sections():
        try:
            if name == site:
                raise ValueError('this is the site itself, sections are for '
                                 'the others')
            peers[name] = _peer(name, dict(parser.items(name)))
        except ValueError as err:
            raise ValueError('%s: [%s]: %s' % (path, name, err)) from err
    return peers


def load(path, site):
    """Read a versioning-sites.conf.

    :returns: the result of ``parse``; an empty dict if there is no such file
    :raises ValueError: if the file cannot be read or has an error
    """
    try:
        with open(path, encoding='utf8') as file:
            return parse(file.read(), site, path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as err:
        raise ValueError('%s cannot be read: %s' % (path, err)) from err
