# SPDX-License-Identifier: Apache-2.0
"""From elements back to the text of a document."""

from xml.sax.saxutils import quoteattr


def text(element):
    """
    Write elements as XML.

    :param element: an ``Element``
    :returns: XML that ``reader.parse`` makes the same element of, but for
        lines and comments
    """
    return '\n'.join(_lines(element, 0)) + '\n'


def _lines(element, depth):
    indent = '  ' * depth
    head = indent + '<' + ' '.join([element.tag] + [
        '%s=%s' % (key, quoteattr(value))
        for key, value in element.attributes.items()])
    if not element.children:
        yield head + '/>'
        return
    yield head + '>'
    for child in element.children:
        yield from _lines(child, depth + 1)
    yield '%s</%s>' % (indent, element.tag)
