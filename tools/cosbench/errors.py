# SPDX-License-Identifier: Apache-2.0
"""The errors of a workload: each names the thing, its value, what is allowed.

``ConfigError`` is raised by what knows a value only; the builder catches it
and adds the line; ``WorkloadError`` carries all that a document was refused
for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from swift_lightsync.common.text import shown


class ConfigError(ValueError):
    """A value that is not allowed."""

    @classmethod
    def of(cls, key: str, value: object, allowed: str) -> 'ConfigError':
        """Return the error for a setting.

        :param allowed: what it must be, as words that follow 'must be'
        """
        return cls('%s=%s: must be %s' % (key, shown(str(value)), allowed))


class ArchiveError(Exception):
    """An archive, or a run in it, that cannot be used."""


@dataclass(frozen=True)
class Problem:
    """Something about one line of a document."""

    line: int
    reason: str
    #: Whether it is a key that nothing asks for, which may be refused.
    is_unknown_key: bool = False


class WorkloadError(Exception):
    """A document that is no workload.

    :param problems: what it was refused for; at least one
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__('; '.join(
            'line %d: %s' % (problem.line, problem.reason)
            for problem in self.problems))
