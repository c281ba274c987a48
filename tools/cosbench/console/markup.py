# SPDX-License-Identifier: Apache-2.0
"""HTML whose every word is escaped, unless it is HTML already."""

from html import escape

#: Elements that have no end tag.
_VOID = ('input', 'link', 'meta')


class Markup(str):
    """What may stand in a page as it is."""


def text(value):
    """
    Escape a value, unless it is markup already.

    :param value: ``Markup``, which stays as it is, or anything else
    :returns: ``Markup``
    """
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def join(parts):
    """
    Put parts one after the other, each escaped.

    :param parts: as ``text`` takes; None is nothing
    :returns: ``Markup``
    """
    return Markup(''.join(text(part) for part in parts if part is not None))


def tag(name, /, *content, **attributes):
    """
    Return an element.

    :param content: as ``join`` takes
    :param attributes: True: it stands without a value; None or False: it is
        not there; ``class_`` is class, and other _ are -
    :returns: ``Markup``
    """
    shown = ''.join(_attribute(key.rstrip('_').replace('_', '-'), value)
                    for key, value in attributes.items())
    if name in _VOID:
        return Markup('<%s%s>' % (name, shown))
    return Markup('<%s%s>%s</%s>' % (name, shown, join(content), name))


def _attribute(key, value):
    if value is None or value is False:
        return ''
    return ' ' + key if value is True else ' %s="%s"' % (
        key, escape(str(value)))
