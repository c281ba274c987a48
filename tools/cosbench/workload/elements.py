# SPDX-License-Identifier: Apache-2.0
"""Elements of a document, and what is found about them.

Which elements and attributes there are is one table, which the builder
reads. What is not in it is ignored, as COSBench did, with a warning.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cosbench.errors import ConfigError, Problem
from cosbench.workload.config import Parser
from swift_lightsync.common.text import shown

#: Element: its attributes, its children.
KNOWN = {
    'workload': ('name description trigger config',
                 'auth storage workflow'),
    'workflow': ('config', 'workstage'),
    'workstage': ('name closuredelay trigger config', 'auth storage work'),
    'work': ('name type workers interval division runtime rampup rampdown '
             'totalOps totalBytes afr driver config',
             'auth storage operation'),
    'operation': ('type ratio division config id', ''),
    'auth': ('type config', ''),
    'storage': ('type config', ''),
}
#: Children of which there may be more than one.
REPEATED = {'workstage', 'work', 'operation'}


@dataclass
class Element:
    """One element of a document; it begins at its line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list['Element'] = field(default_factory=list)


#: The known children of an element, by tag.
Children = dict[str, list[Element]]


class Findings:
    """Collects the reasons to refuse a document, and its warnings."""

    def __init__(self) -> None:
        self.refusals: list[Problem] = []
        self.warnings: list[Problem] = []

    def refuse(self, element: Element, reason: str) -> None:
        self.refusals.append(Problem(element.line, reason))

    def warn(self, element: Element, reason: str,
             is_unknown_key: bool = False) -> None:
        self.warnings.append(Problem(element.line, reason, is_unknown_key))

    @contextmanager
    def of(self, element: Element) -> Iterator[None]:
        """Make a ``ConfigError`` of the block a refusal of the element."""
        try:
            yield
        except ConfigError as err:
            self.refuse(element, str(err))

    def value(self, element: Element, key: str, parse: Parser,
              default: Any = None) -> Any:
        """Return the value of an attribute.

        :param parse: makes the value of the name and the text
        :param default: the value of an attribute that is absent or refused
        """
        if key in element.attributes:
            with self.of(element):
                return parse(key, element.attributes[key])
        return default

    def children(self, element: Element) -> Children:
        """Return the known children of an element.

        A second child of a kind that may be there once is refused; unknown
        attributes and children get a warning.

        :returns: a list for each tag that the element may have in it
        """
        known_attributes, known_children = (
            each.split() for each in KNOWN[element.tag])
        for key in element.attributes:
            if key not in known_attributes:
                self._ignored(element, 'attribute', key, element.tag,
                              known_attributes)
        found: Children = {tag: [] for tag in known_children}
        for child in element.children:
            if child.tag not in found:
                self._ignored(child, 'element', child.tag, element.tag,
                              known_children)
            elif found[child.tag] and child.tag not in REPEATED:
                self.refuse(child, 'a second %s in one %s'
                            % (child.tag, element.tag))
            else:
                found[child.tag].append(child)
        return found

    def _ignored(self, element: Element, kind: str, name: str, tag: str,
                 known: Iterable[str]) -> None:
        self.warn(element, 'the %s %s of %s is ignored; known: %s' % (
            kind, shown(name), tag, ', '.join(known) or 'none'))
