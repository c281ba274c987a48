# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""From elements back to the text of a document."""

from xml.sax.saxutils import quoteattr


def text(element):
    """
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
