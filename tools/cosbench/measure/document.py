# SPDX-License-Identifier: Apache-2.0
"""Reading JSON that may come from anyone: each value is checked by name.

A reader walks a parsed document through ``Node``, which knows where it is,
so that an error names the place, the value and what is allowed. Nothing is
taken without a bound.
"""

from swift_lightsync.common.text import shown

#: No counter grows past it: 2**53, what every JSON reader takes exactly.
MAX_COUNT = 2 ** 53
MAX_TEXT = 1 << 20


class ResultError(ValueError):
    """A document, or a part of one, that is not as RESULT.md says."""


class Node:
    """A value of a parsed document, and its place."""

    __slots__ = ('value', 'place')

    def __init__(self, value, place):
        self.value = value
        self.place = place

    def refuse(self, allowed):
        """
        :param allowed: words that follow 'must be'
        :returns: the ``ResultError`` to raise
        """
        return ResultError('%s=%s: must be %s' % (
            self.place, shown(self.value), allowed))

    def member(self, key):
        """
        :returns: the ``Node`` of a key that must be there
        """
        if not isinstance(self.value, dict):
            raise self.refuse('an object')
        if key not in self.value:
            raise ResultError('%s.%s is missing' % (self.place, key))
        return Node(self.value[key], '%s.%s' % (self.place, key))

    def optional(self, key, default=None):
        """
        :returns: the ``Node`` of a key, or of the default
        """
        if not isinstance(self.value, dict):
            raise self.refuse('an object')
        return Node(self.value.get(key, default),
                    '%s.%s' % (self.place, key))

    def integer(self, least=0, most=MAX_COUNT):
        if type(self.value) is not int or not least <= self.value <= most:
            raise self.refuse('an integer of %d to %d' % (least, most))
        return self.value

    def number(self, least, most):
        # A NaN is in no range.
        if type(self.value) not in (int, float) or \
                not least <= self.value <= most:
            raise self.refuse('a number of %g to %g' % (least, most))
        return self.value

    def text(self, most=MAX_TEXT):
        if not isinstance(self.value, str) or len(self.value) > most:
            raise self.refuse('a string of at most %d characters' % most)
        return self.value

    def items(self, most, key_length=200):
        """
        :param most: how many an object may have
        :param key_length: of each key, at most
        :returns: a list of (key, ``Node``)
        """
        if not isinstance(self.value, dict) or len(self.value) > most or \
                any(len(key) > key_length for key in self.value):
            raise self.refuse('an object of at most %d keys, each of at '
                              'most %d characters' % (most, key_length))
        return [(key, Node(value, '%s.%s' % (self.place, shown(key))))
                for key, value in self.value.items()]

    def elements(self, most, least=0):
        """
        :returns: a list of ``Node``
        """
        if not isinstance(self.value, list) or \
                not least <= len(self.value) <= most:
            raise self.refuse('a list of %d to %d values' % (least, most))
        return [Node(value, '%s[%d]' % (self.place, number))
                for number, value in enumerate(self.value)]
