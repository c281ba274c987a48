# SPDX-License-Identifier: Apache-2.0
"""The regions in which primary roles live: ``primary_role_regions``.

The option stands in swift.conf, in a section [primary-role-writes:N] of the
policy N: proxies, object-servers and convergers have to know it.
"""

from configparser import Error, RawConfigParser
from functools import cache

from swift.common import utils

from swift_lightsync.common.options import OptionError, read_option
from swift_lightsync.proar.core.epochs import MAX_REGION

NAME = 'primary_role_regions'
SECTION = 'primary-role-writes:%d'


def regions_of(policy) -> frozenset[int]:
    """Return the regions in which the primary roles of a policy live.

    :param policy: a StoragePolicy
    :returns: numbers; none: in all
    :raises OptionError: if the option has a value that is not allowed
    """
    return _regions(utils.SWIFT_CONF_FILE, int(policy))


@cache
def _regions(path, index):
    # Read once, as Swift reads its policies.
    section = SECTION % index
    parser = RawConfigParser()
    try:
        parser.read(path)
    except Error as err:
        raise OptionError('%s: %s' % (path, err)) from err
    if not parser.has_section(section):
        return frozenset()
    conf = dict(parser.items(section),
                __file__='%s: [%s]' % (path, section))
    return read_option(conf, NAME, '', parse)


def parse(text):
    """Parse numbers of regions.

    :param text: such as ``1, 2``
    :raises ValueError: if it is none
    """
    parts = [part.strip() for part in text.split(',')] if text.strip() else []
    if not all(part.isascii() and part.isdigit() and int(part) <= MAX_REGION
               for part in parts):
        raise ValueError('must be numbers of regions, 0 to %d, with commas '
                         'between them' % MAX_REGION)
    return frozenset(map(int, parts))
