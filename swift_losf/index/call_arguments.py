# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of the calls of the index.

An error names the field, its value, and what is allowed.
"""

from swift_losf.format import keys
from swift_losf.format.header import (
    HASH_LENGTH,
    MAX_METADATA,
    MAX_NAME,
    VOLUME_HEADER_LENGTH,
    FormatError,
)
from swift_losf.format.name_code import written_name
from swift_losf.format.values import MAX_NUMBER, UNIT


class InvalidArgument(ValueError):
    """A call that makes no sense: the field, its value, what is allowed."""


def check(field, value, allowed, holds):
    """Check that an argument is allowed.

    :param field: its name, for the error
    :param value: its value, for the error
    :param allowed: what it may be, for the error
    :param holds: whether it is allowed
    :raises InvalidArgument: if it is not
    """
    if not holds:
        raise InvalidArgument('%s %r: must be %s' % (field, value, allowed))


def check_range(field, value, low, high):
    """Check that low <= value <= high.

    :raises InvalidArgument: if not
    """
    check(field, value, 'from %d to %d' % (low, high), low <= value <= high)


def check_hash(partition, hash_):
    """Check that these are a partition and a hash.

    :raises InvalidArgument: if not
    """
    check_range('partition', partition, 0, keys.MAX_PARTITION)
    check('hash', hash_.hex(), '%d bytes' % HASH_LENGTH,
          len(hash_) == HASH_LENGTH)


def check_suffix(partition, suffix):
    """Check that these are a partition and a suffix.

    :raises InvalidArgument: if not
    """
    check_range('partition', partition, 0, keys.MAX_PARTITION)
    check_range('suffix', suffix, 0, keys.MAX_SUFFIX)


def check_location(name, location):
    """Check that a record with a file of that name may be at a location.

    :raises InvalidArgument: if not
    """
    check_range('volume', location.volume, 1, MAX_NUMBER)
    check_range('offset', location.offset, VOLUME_HEADER_LENGTH,
                MAX_NUMBER)
    check('offset', location.offset, 'a multiple of %d' % UNIT,
          not location.offset % UNIT)
    check_range('data_length', location.data_length, 0, MAX_NUMBER)
    check_range('metadata_length', location.metadata_length, 0, MAX_METADATA)
    check('metadata', '%d bytes' % len(location.metadata),
          'empty or as long as metadata_length: %d'
          % location.metadata_length,
          len(location.metadata) in (0, location.metadata_length))
    check_range('name_length', location.name_length, 1, MAX_NAME)
    lengths = [len(each) for each in (name, written_name(name)) if each]
    check('name_length', location.name_length,
          '%s, the length of %r' % (' or '.join(map(str, lengths)), name),
          location.name_length in lengths)


def file_key(partition, hash_, name):
    """Return the key of a file.

    :raises InvalidArgument: if it is not a name that a file can have
    """
    try:
        return keys.file_key(partition, hash_, name)
    except FormatError as err:
        raise InvalidArgument(str(err)) from err
