# SPDX-License-Identifier: Apache-2.0
"""Records of recon files: objects of JSON whose fields say how they are read.

They come from files and from other nodes: whatever is not as described is
refused, with the reason.
"""

from dataclasses import asdict, field, fields
from enum import Enum

#: Longest file that is read, bytes: some 200,000 pairs of devices.
MAX_BYTES = 64 << 20
#: Beyond any number that we write.
LIMIT = 1e15


class ReconError(ValueError):
    """Recon data that cannot be used, with the reason."""


def number(value):
    """:raises ReconError: if a value of JSON is no finite number from 0"""
    if (isinstance(value, bool) or not isinstance(value, (int, float))
            or not 0 <= value < LIMIT):
        raise ReconError('%.80r must be a number from 0' % (value,))
    return value


def count(value):
    """:raises ReconError: if a value of JSON is no integer from 0"""
    if type(value) is not int or not 0 <= value < LIMIT:
        raise ReconError('%.80r must be an integer from 0' % (value,))
    return value


def text(value):
    """:raises ReconError: if a value of JSON is no string"""
    if not isinstance(value, str):
        raise ReconError('%.80r must be a string' % (value,))
    return value


def place_name(where):
    """
    :returns: ``IP:port/device`` of a device, ``IP:port`` of a node; what
        could upset a terminal is replaced
    """
    name = '/'.join(['%s:%d' % where[:2], *where[2:]])
    return ''.join(each if each.isprintable() else '?' for each in name)


def parsed_by(parse):
    """A dataclass field that comes from JSON by a function."""
    return field(metadata={'parse': parse})


class Record:
    """A dataclass whose fields say how they are parsed: an object of JSON."""

    @classmethod
    def of_fields(cls, values):
        """
        :param values: an object; fields that we do not know are ignored
        :raises ReconError: if it is none, or lacks a field, or has a bad one
        """
        if not isinstance(values, dict):
            raise ReconError('%.80r must be an object' % (values,))
        parsed = {}
        for each in fields(cls):
            if each.name not in values:
                raise ReconError('%s is missing' % each.name)
            try:
                parsed[each.name] = each.metadata['parse'](values[each.name])
            except ValueError as err:
                raise ReconError('%s: %s' % (each.name, err))
        return cls(**parsed)

    def to_fields(self):
        """:returns: the object"""
        return {name: value.value if isinstance(value, Enum) else value
                for name, value in asdict(self).items()}
