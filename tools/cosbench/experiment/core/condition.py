# SPDX-License-Identifier: Apache-2.0
"""What a condition of ``--fail-if`` is made of, once it is parsed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A constant; times are milliseconds."""

    value: float


@dataclass(frozen=True)
class Named:
    """A figure of an operation; '': of the only one that there is."""

    figure: str
    operation: str
    #: Of the base configuration, not of the one that is judged.
    of_base: bool = False


@dataclass(frozen=True)
class Base:
    """``base``, until it is known which figure it is."""


@dataclass(frozen=True)
class Sum:
    """Two values and + - * or / between them."""

    sign: str
    left: 'Value'
    right: 'Value'


@dataclass(frozen=True)
class Comparison:
    """Two values and < <= > or >= between them."""

    sign: str
    left: 'Value'
    right: 'Value'


@dataclass(frozen=True)
class Logic:
    """``and`` or ``or`` of two, or ``not`` of one."""

    word: str
    parts: tuple['Truth', ...]


Value = Number | Named | Sum | Base
Truth = Comparison | Logic


@dataclass(frozen=True)
class Condition:
    """A condition, and how it was written."""

    text: str
    truth: Truth


def comparisons(truth: Truth) -> list[Comparison]:
    """Return the comparisons of a condition, from left to right."""
    if isinstance(truth, Comparison):
        return [truth]
    return [each for part in truth.parts for each in comparisons(part)]


def named(value: Value) -> list[Named]:
    """Return the figures of a value, from left to right."""
    if isinstance(value, Sum):
        return named(value.left) + named(value.right)
    return [value] if isinstance(value, Named) else []
