# SPDX-License-Identifier: Apache-2.0
"""The epoch of roles: which ring, and which regions, tell who has a role.

An epoch is one number of 32 bits, so that it fits into headers, messages and
the log: the version of the object ring in the lower 20 bits, and above them a
bit for each region in which primary roles live; none of these: in all.
PROTOCOL.md, "Ring epochs".
"""

from collections.abc import Iterable

VERSION_BITS = 20
#: The greatest number of a region that can be named.
MAX_REGION = 31 - VERSION_BITS
_VERSIONS = (1 << VERSION_BITS) - 1


def epoch_number(version: int, regions: Iterable[int]) -> int:
    """Return the number of an epoch.

    :param version: of the object ring
    :param regions: in which primary roles live, 0 to MAX_REGION; none: in all
    """
    number = version & _VERSIONS
    for region in regions:
        number |= 1 << VERSION_BITS + region
    return number


def version_in(epoch: int) -> int:
    """Return the version of the object ring of an epoch."""
    return epoch & _VERSIONS


def regions_in(epoch: int) -> frozenset[int]:
    """Return the regions of an epoch."""
    return frozenset(region for region in range(MAX_REGION + 1)
                     if epoch >> VERSION_BITS + region & 1)


def is_newer(epoch: int, than: int) -> bool:
    """Return whether an epoch has a newer ring than another one."""
    return version_in(epoch) > version_in(than)


def epoch_text(epoch: int) -> str:
    """Return an epoch as people call it."""
    regions = sorted(regions_in(epoch))
    return 'ring %d' % version_in(epoch) + (
        ', primary roles in regions %s' % '+'.join(map(str, regions))
        if regions else '')
