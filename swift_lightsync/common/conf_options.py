# SPDX-License-Identifier: Apache-2.0
"""Options of conf files: parsed, or refused with their names."""

import math

from swift.common.utils import non_negative_float


class OptionError(SystemExit, ValueError):
    """
    An option with a value that is not allowed, saying which and why.

    Stock Swift's daemons catch no error of a class that they make: this one
    ends them with status 1 and one line instead of a traceback.
    """

    def __init__(self, reason):
        super().__init__(reason)
        self.code = 'Error: %s' % reason


def option(conf, name, default, parse):
    """
    :param conf: a dict of a section's options
    :param name: the option's name
    :param default: its value if it is not set
    :param parse: a function of the value that raises ValueError
    :returns: the parsed value
    :raises OptionError: if the value is not allowed
    """
    value = conf.get(name, default)
    try:
        return parse(value)
    except (TypeError, ValueError) as err:
        raise OptionError('%s: %s = %s: %s' % (
            conf.get('__file__', 'configuration'), name, value, err))


def between(least, most, parse=int):
    """
    :param least: the smallest number that is allowed
    :param most: the largest
    :param parse: int or float
    :returns: a function of an option's value that returns it as a number, or
        raises ValueError if it is none of those that are allowed
    """
    def parse_between(value):
        try:
            number = parse(value)
        except (OverflowError, TypeError, ValueError):
            number = math.nan
        if not least <= number <= most:
            raise ValueError('must be %s%s to %s' % (
                'a whole number, ' if parse is int else '', least, most))
        return number
    return parse_between


def finite_float(value):
    """
    :param value: an option's value
    :returns: it as a float
    :raises ValueError: if it is not a number from 0
    """
    number = non_negative_float(value)
    if not math.isfinite(number):
        raise ValueError('must be finite')
    return number
