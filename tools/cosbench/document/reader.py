# SPDX-License-Identifier: Apache-2.0
"""From the bytes of a workload document to its workload, and back to XML.

COSBench's published files have ``<placeholder>`` text in attributes, which
XML does not allow; here ``<`` in a quoted attribute stands for itself.
A document type declaration is refused where it begins, and with it every
entity beyond XML's five: nothing expands, and nothing outside of the
document is ever read.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from cosbench.errors import ConfigError, Problem, WorkloadError
from cosbench.workload.build import build
from cosbench.workload.elements import Element
from cosbench.workload.inheritance import Adaptors
from cosbench.workload.model import Workload

#: COSBench's own files have 1 to 4 KiB.
MAX_BYTES = 2 ** 20
MAX_DEPTH = 32
ENCODINGS = ('utf-8', 'us-ascii', 'iso-8859-1')
_DECLARED = re.compile(
    rb'\s*<\?xml[^>]*?\sencoding\s*=\s*["\']([\w.-]*)["\']')
_ENCODING = re.compile(
    r'\A(\s*<\?xml[^>]*?)\sencoding\s*=\s*(?:"[^"]*"|\'[^\']*\')')
#: In a tag, up to and with the next quoted value or the end.
_IN_TAG = re.compile(r'''[^<>"']*(?:"([^"]*)"|'([^']*)'|>)''')
#: What is copied as it is: its begin and its end.
_OPAQUE = (('<!--', '-->'), ('<![CDATA[', ']]>'), ('<?', '?>'))


@dataclass(frozen=True)
class Document:
    """A document that was accepted."""

    workload: Workload
    warnings: tuple[Problem, ...]


def file_bytes(path: str) -> bytes:
    """Read a file that a command names.

    :returns: its bytes; of one that is too large, enough to be refused
    :raises ConfigError: if the file cannot be read
    """
    try:
        return _bytes(path)
    except OSError as err:
        raise ConfigError('%s: %s' % (path, err.strerror)) from None


def read_file(path: str, adaptors: Adaptors = Adaptors()) -> Document:
    """Read a file, and build the workload that it means.

    :returns: a ``Document``
    :raises OSError: if it cannot be read
    :raises WorkloadError: if it is no workload
    """
    return read(_bytes(path), adaptors)


def _bytes(path: str) -> bytes:
    with open(path, 'rb') as source:
        return source.read(MAX_BYTES + 1)


def read(data: bytes, adaptors: Adaptors = Adaptors()) -> Document:
    """Build the workload that a document means.

    :param adaptors: the types of auth and storage that are installed
    :returns: a ``Document``
    :raises WorkloadError: with all that it is refused for, and the lines
    """
    return Document(*build(parse(data), adaptors))


def parse(data: bytes) -> Element:
    """Parse the XML of a document.

    :returns: the root ``Element``
    :raises WorkloadError: if they are no XML, or of a kind that is refused
    """
    if len(data) > MAX_BYTES:
        raise _refusal(1, 'the document is larger than %d bytes' % MAX_BYTES)
    return _Tree().parse(escaped(decoded(data)).encode('utf8'))


def _refusal(line: int, reason: str) -> WorkloadError:
    return WorkloadError([Problem(line, reason)])


def portable(data: bytes) -> str:
    """Decode a document, and drop the encoding that it declares.

    :returns: its text, which reads the same when it is encoded as UTF-8
    :raises WorkloadError: if it is in no encoding that is taken
    """
    return _ENCODING.sub(r'\1', decoded(data), count=1)


def decoded(data: bytes) -> str:
    """Decode a document.

    :returns: its text
    :raises WorkloadError: if it is in no encoding that is taken
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = 'utf-16'
    else:
        data = data[len(codecs.BOM_UTF8):] if data.startswith(
            codecs.BOM_UTF8) else data
        declared = _DECLARED.match(data)
        encoding = declared.group(1).decode().lower() if declared else 'utf-8'
        if encoding not in ENCODINGS:
            raise _refusal(1, 'encoding %s: must be one of %s, or utf-16 '
                           'with a byte order mark'
                           % (encoding, ', '.join(ENCODINGS)))
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as err:
        raise _refusal(data.count(b'\n', 0, err.start) + 1,
                       'this is not %s' % encoding) from None


def escaped(text: str) -> str:
    """Write each ``<`` in a quoted attribute as XML demands.

    What is not well-formed is left as it is, for the parser to refuse. Time
    is linear in the length.

    :returns: a document with the same lines
    """
    pieces, done = [], 0
    for begin, end in _quoted(text):
        pieces += [text[done:begin], text[begin:end].replace('<', '&lt;')]
        done = end
    return ''.join(pieces) + text[done:]


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """Where the quoted attributes are, until something is malformed."""
    place = text.find('<')
    while place >= 0:
        opaque = next((pair for pair in _OPAQUE
                       if text.startswith(pair[0], place)), None)
        if opaque is not None:
            begin, end = opaque
            place = text.find(end, place + len(begin))
        elif text.startswith('<!', place):
            return
        else:
            match = _IN_TAG.match(text, place + 1)
            while match and match.lastindex:
                yield match.span(match.lastindex)
                match = _IN_TAG.match(text, match.end())
            place = match.end() if match else -1
        if place >= 0:
            place = text.find('<', place)


class _Tree:
    """Builds elements from what expat calls."""

    def __init__(self) -> None:
        # Named, so that the declaration's encoding, which was that of the
        # bytes, counts no more.
        self._parser = expat.ParserCreate('UTF-8')
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[Element] = []
        self._root = Element('', {}, 0)

    def parse(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as err:
            raise _refusal(err.lineno, 'not well-formed XML: %s'
                           % expat.ErrorString(err.code)) from None
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if len(self._open) >= MAX_DEPTH:
            raise _refusal(line, 'more than %d elements in each other'
                           % MAX_DEPTH)
        element = Element(tag, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _doctype(self, name: Any, system: Any, public: Any, internal: Any
                ) -> None:
        raise _refusal(self._parser.CurrentLineNumber, 'a document type '
                       'declaration (DOCTYPE) is not allowed')


def text(element: Element) -> str:
    """Write elements as XML.

    :returns: XML that ``reader.parse`` makes the same element of, but for
        lines and comments
    """
    return ElementTree.tostring(_tree(element), 'unicode')


def _tree(element: Element) -> ElementTree.Element:
    made = ElementTree.Element(element.tag, element.attributes)
    made.extend(map(_tree, element.children))
    return made
