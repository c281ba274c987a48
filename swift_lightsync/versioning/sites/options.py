# SPDX-License-Identifier: Apache-2.0
"""The options of [container-propagator] in container-server.conf, and of the
filter ``egg:swift-lightsync#versioning``; and versioning-sites.conf: the other
sites, their endpoints and the keys that this site shares with each.
"""

import os
import secrets
from configparser import Error, RawConfigParser
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from swift_lightsync.common.options import (
    OptionError,
    Options,
    boolean,
    choice,
    comma_list,
    integer,
    number,
    option,
    read_option,
)
from swift_lightsync.versioning.core.shipping import MAX_OFFERED
from swift_lightsync.versioning.core.signature import MIN_KEY
from swift_lightsync.versioning.core.stamp import MAX_SITES, SiteClock
from swift_lightsync.versioning.core.version import check_site
from swift_lightsync.versioning.strategies.strategy import Mode

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
    endpoints: tuple[Endpoint, ...]
    keys: tuple[bytes, ...]


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


def load(path, site):
    """Read a versioning-sites.conf.

    :returns: the result of ``parse``
    :raises ValueError: if the file cannot be read or has an error
    """
    try:
        with open(path, encoding='utf8') as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as err:
        raise ValueError('%s cannot be read: %s' % (path, err)) from err
    return parse(text, site, path)


def parse(text, site, path):
    """Read the text of a versioning-sites.conf.

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
    owners: dict[bytes, str] = {}
    for name, peer in peers.items():
        for key in peer.keys:
            if owners.setdefault(key, name) != name:
                raise ValueError('%s: [%s] and [%s] have the same key, each '
                                 'pair of sites has to have its own' % (
                                     path, owners[key], name))
    return peers


_SECONDS = number(0.001, 3600)
_DELAY = number(0, 86400)
_NUMBER = integer(0, 10 ** 12)


@dataclass(frozen=True)
class SiteOptions:
    """
    The options that the proxies and the propagators of a site must agree on.

    :param site: the name of this site
    :param site_preference: of all sites, the preferred one first
    :param sites_conf: the path of versioning-sites.conf
    """
    site: str
    site_preference: tuple[str, ...]
    sites_conf: str

    @classmethod
    def from_conf(cls, conf):
        """Read the options.

        :raises OptionError: if a value is not allowed
        """
        site = read_option(conf, 'site', '', check_site)

        def parse_preference(text):
            sites = comma_list(check_site)(text)
            if len(sites) > MAX_SITES or len(set(sites)) != len(sites) or \
                    site not in sites:
                raise ValueError('must be at most %d sites with commas '
                                 'between them, each once, among them %s' %
                                 (MAX_SITES, site))
            return sites
        return cls(site, read_option(conf, 'site_preference', '',
                                     parse_preference),
                   conf.get('sites_conf') or os.path.join(
                       conf.get('swift_dir', '/etc/swift'), FILE))

    def clock(self, max_skew):
        """Make the clock of this site.

        :param max_skew: seconds that another site's may be ahead
        """
        return SiteClock(self.site_preference.index(self.site), max_skew,
                         partial(secrets.randbits, 32))

    def peers(self):
        """Read the file of the other sites.

        :returns: a dict, from names to ``Peer``
        :raises OptionError: if the file has an error or names a site that is
            not in site_preference; if it is missing where there are several
        """
        if self.site_preference == (self.site,) and not os.path.lexists(
                self.sites_conf):
            return {}
        try:
            peers = load(self.sites_conf, self.site)
        except ValueError as err:
            raise OptionError(str(err)) from err
        for name in peers:
            if name not in self.site_preference:
                raise OptionError('%s: [%s] is not in site_preference, which '
                                  'is %s' % (self.sites_conf, name, ', '.join(
                                      self.site_preference)))
        return peers


@dataclass(frozen=True)
class PropagatorOptions(Options):
    """The options of the propagator.

    :param interval: seconds between two looks at the rows of containers
    :param scan_interval: seconds between two scans of all containers
    :param concurrency: requests to one site at the same time
    :param batch_size: versions that a site is asked about at once
    :param handover_delay: seconds after which the server of another replica
        does what the first one has not done
    :param repair_delay: seconds after which new rows are checked
    :param conn_timeout: seconds that a site may take to accept a connection
    :param node_timeout: seconds that it may take for each part of a request,
        and for the answer
    :param retry_delay: seconds for which a site that does not answer, and a
        version that is not taken, are left alone; doubled each time
    :param max_retry_delay: the most that these seconds grow to
    :param max_bytes_per_second: of data, to each site; 0: no limit
    :param max_versions_per_second: to each site; 0: no limit
    :param compare_interval: seconds after which all containers are compared
        with those of each other site, and looked at for versions that are
        kept no longer
    :param reclaim_age: seconds for which purge records are kept, and hidden
        containers of containers that were deleted
    """
    interval: float = option(1.0, _SECONDS)
    scan_interval: float = option(30.0, number(0.001, 86400))
    concurrency: int = option(8, integer(1, 1000))
    batch_size: int = option(MAX_OFFERED, integer(1, MAX_OFFERED))
    handover_delay: float = option(15.0, _DELAY)
    repair_delay: float = option(10.0, _DELAY)
    conn_timeout: float = option(2.0, _SECONDS)
    node_timeout: float = option(30.0, _SECONDS)
    retry_delay: float = option(1.0, _SECONDS)
    max_retry_delay: float = option(60.0, _SECONDS)
    max_bytes_per_second: int = option(0, _NUMBER)
    max_versions_per_second: int = option(0, _NUMBER)
    compare_interval: float = option(21600.0, number(1, 10 ** 7))
    reclaim_age: int = option(604800, _NUMBER)


@dataclass(frozen=True)
class FilterOptions(Options):
    """The options of the filter.

    :param sites: ``SiteOptions``
    :param mode: of containers that are versioned from now on
    :param max_clock_skew: seconds that another site's clock may be ahead
    :param allow_versioning: whether clients may enable it
    :param latest_hint_time: seconds that memcache keeps a hint which version
        of an object is the latest; 0: there are no hints
    :param latest_cache_time: seconds that reads trust memcache without asking
        the container servers; 0: they always ask
    """
    sites: SiteOptions
    mode: Mode = option(Mode.WRITE_REPAIR, choice(Mode))
    max_clock_skew: float = option(60.0, number(0, 86400))
    allow_versioning: bool = option(True, boolean)
    latest_hint_time: int = option(3600, integer(0, 86400))
    latest_cache_time: int = option(0, integer(0, 3600))

    @classmethod
    def from_conf(cls, conf, **others):
        """Read the options of the filter and of its site.

        :param conf: a dict of the section's options
        :raises OptionError: if a value is not allowed
        """
        return super().from_conf(
            conf, sites=SiteOptions.from_conf(conf), **others)
