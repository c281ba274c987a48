# SPDX-License-Identifier: Apache-2.0
"""How a system tells ``swift-lightsync-health`` whether it is well.

Each system has a module ``health`` with one :class:`Watched`: what a node of
it answers, and how the answers of all nodes are judged. ``health/systems.py``
lists them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from swift_lightsync.common.nodes import Question, Reply
from swift_lightsync.common.openmetrics import Family

#: Path -> makes the bytes of a node's answer; it raises ValueError or OSError
#: if what the node has recorded cannot be read.
Routes = Mapping[str, Callable[[], bytes]]


class Severity(IntEnum):
    """How bad a finding is; the values are exit statuses of Nagios."""
    OK = 0
    WARNING = 1
    CRITICAL = 2
    #: It cannot be told.
    UNKNOWN = 3


def worst(severities: Iterable[Severity]) -> Severity:
    """Return the worst; what is critical outweighs what cannot be told."""
    return max(severities, default=Severity.OK, key=lambda each: (
        each is Severity.CRITICAL, each))


@dataclass(frozen=True)
class Finding:
    """What is not well.

    :param severity: how bad it is
    :param text: where it is, and what; it may hold what a node said
    """
    severity: Severity
    text: str


@dataclass(frozen=True)
class Verdict:
    """How one system is.

    :param is_used: whether a node runs it
    :param findings: what is not well
    :param summary: what there is, if all is well
    :param families: metrics
    """
    is_used: bool
    findings: Sequence[Finding] = ()
    summary: str = ''
    families: Sequence[Family] = ()

    @property
    def severity(self) -> Severity:
        """The worst of the findings."""
        return worst(each.severity for each in self.findings)


@dataclass(frozen=True)
class Scope:
    """What is looked at.

    :param swift_dir: where swift.conf and the rings are
    :param now: Unix time
    :param patience: seconds that something may be behind
    """
    swift_dir: str
    now: float
    patience: float


@dataclass(frozen=True)
class Watched:
    """A system as the health check sees it.

    :param name: what the report calls it
    :param routes: makes what a node answers, of a conf
    :param questions: what a node is asked
    :param judge: makes the Verdict of the replies to each question, by path.
        Only nodes that can be reached are among them
    :param server: which servers are asked: ``object`` or ``container``
    """
    name: str
    routes: Callable[[Mapping[str, Any]], Routes]
    questions: Sequence[Question]
    judge: Callable[[Mapping[str, Sequence[Reply]], Scope], Verdict]
    server: str = field(default='object')


def warn(texts: Sequence[str],
         severity: Severity = Severity.WARNING) -> list[Finding]:
    """Return texts as findings of one severity."""
    return [Finding(severity, text) for text in texts]
