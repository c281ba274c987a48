# SPDX-License-Identifier: Apache-2.0
"""The headers by which Swift's container says whether it has versions, and by
which it becomes what its life record says.
"""

from swift.common.request_helpers import get_sys_meta_prefix
from swift.common.swob import str_to_wsgi, wsgi_quote
from swift.common.utils import Timestamp, config_true_value

from swift_lightsync.versioning.core import life as lives
from swift_lightsync.versioning.core.stamp import Stamp

_SYSMETA = get_sys_meta_prefix('container')
ENABLED = 'site-versions-enabled'
MODE = 'site-versions-mode'
#: The index of its storage policy.
POLICY = 'X-Backend-Storage-Policy-Index'
#: Swift's own, which s3api, container_sync and quotas ask for.
STOCK_ENABLED = 'versions-enabled'
STOCK_CONTAINER = 'versions-container'


def sysmeta(name):
    """Return the header of a container's sysmeta."""
    return _SYSMETA + name


def enabled_headers(enabled):
    """Return the headers of a container that say whether versions are made.
    """
    return dict.fromkeys(map(sysmeta, (ENABLED, STOCK_ENABLED)),
                         str(enabled))


def life_headers(life, before=()):
    """Return the headers of a PUT or POST that makes a container what its life
    record says.

    :param before: the names of the headers that it has
    """
    if life.described is None:
        return {}
    headers = dict(lives.changes(before, life.headers))
    # As the filter writes it, which clients see.
    enabled = headers.pop(lives.ENABLED) == 'true'
    return {**headers, **enabled_headers(enabled)}


def made_headers(life, mode, hidden, policy, before):
    """Return the headers of a PUT that makes a container what its life record
    says, as of then, whether it is there or not.

    :param mode: a text
    :param hidden: the name of its hidden container
    :param policy: the StoragePolicy of that
    :param before: the headers that it has; none: it is not there
    """
    return {**({} if before else {'X-Storage-Policy': policy.name}),
            **mode_headers(mode, hidden), **enabled_headers(True),
            **life_headers(life, before), **life.as_of}


def is_as(life, headers):
    """Check whether a container has versions and is what its record says.

    :param headers: of its HEAD, as its owner sees them; none: it is not there
    """
    return bool(headers.get(sysmeta(MODE))) and all(
        headers.get(name, '') == value
        for name, value in life_headers(life, headers).items())


def described(headers):
    """Return what a life record says of a container.

    :param headers: of its HEAD, as its owner sees them
    """
    return lives.common_headers(headers.items(), config_true_value(
        headers.get(sysmeta(ENABLED))))


def mode_headers(mode, hidden):
    """Return the headers of a container that say where its versions are.

    :param mode: a text
    :param hidden: the name of its hidden container
    """
    return {sysmeta(MODE): mode,
            sysmeta(STOCK_CONTAINER): wsgi_quote(str_to_wsgi(hidden))}


def put_at(headers):
    """Return the ``Stamp`` as of which Swift has made or changed a container.

    :param headers: of its HEAD
    """
    return Stamp.parse(Timestamp(headers.get(
        'X-Backend-Put-Timestamp', 0)).internal)
