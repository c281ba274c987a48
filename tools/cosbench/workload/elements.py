# SPDX-License-Identifier: Apache-2.0
"""Elements of a document, and what is found about them.

Which elements and attributes there are is one table, which the builder reads
and ``schema.xsd`` writes out. What is not in it is ignored, as COSBench did,
with a warning.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Dict, List

from cosbench.errors import ConfigError, Problem, shown

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
    attributes: Dict[str, str]
    line: int
    children: List['Element'] = field(default_factory=list)


class Findings:
    """What a document is refused for, and what is only worth a warning."""

    def __init__(self):
        self.refusals = []
        self.warnings = []

    def refuse(self, element, reason):
        self.refusals.append(Problem(element.line, reason))

    def warn(self, element, reason):
        self.warnings.append(Problem(element.line, reason))

    @contextmanager
    def of(self, element):
        """Make a ``ConfigError`` of the block a refusal of the element."""
        try:
            yield
        except ConfigError as err:
            self.refuse(element, str(err))

    def value(self, element, key, parse, default=None):
        """
        :param parse: takes the key and the text, raises ``ConfigError``
        :returns: what it makes of an attribute; the default if the
            attribute is absent or refused
        """
        if key in element.attributes:
            with self.of(element):
                return parse(key, element.attributes[key])
        return default

    def children(self, element):
        """
        :returns: the known children by tag, each a list; a second one where
            there may be one is refused, what is unknown is warned of
        """
        known_attributes, known_children = (
            each.split() for each in KNOWN[element.tag])
        for key in element.attributes:
            if key not in known_attributes:
                self._ignored(element, 'attribute', key, element.tag,
                              known_attributes)
        found = {tag: [] for tag in known_children}
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

    def _ignored(self, element, kind, name, tag, known):
        self.warn(element, 'the %s %s of %s is ignored; known: %s' % (
            kind, shown(name), tag, ', '.join(known) or 'none'))
