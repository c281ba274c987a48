# SPDX-License-Identifier: Apache-2.0
"""The one exception of the benchmarks: its text says what to do."""


class BenchError(Exception):
    """What is wrong, with the value and what is allowed."""


def require(name, value, allowed, good):
    """
    :param name: the option, as the user writes it
    :param value: what it was given
    :param allowed: in words, what it may be given
    :param good: whether the value is that
    :raises BenchError: if it is not
    """
    if not good:
        raise BenchError('%s is %s; allowed: %s' % (name, value, allowed))


def names(option, text, allowed):
    """
    Take a comma-separated list of names apart.

    :param option: the option, as the user writes it
    :param text: the list
    :param allowed: the names that it may have
    :returns: a tuple of the names, each of them once
    :raises BenchError: for any other name, and for none
    """
    found = tuple(dict.fromkeys(each.strip() for each in text.split(',')))
    for name in found:
        require(option, repr(name), 'a comma-separated list of '
                + ', '.join(allowed), name in allowed)
    return found
