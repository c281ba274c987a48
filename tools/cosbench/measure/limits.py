# SPDX-License-Identifier: Apache-2.0
"""Bounds of what a result document may hold, which may come from anyone."""

from typing import Annotated, Any

from swift_lightsync.common.records import Between, Length, Parsed

#: No counter grows past it: 2**53, what every JSON reader takes exactly.
MAX_COUNT = 2 ** 53
MAX_TEXT = 1 << 20
#: Characters of a name.
MAX_ID = 200
#: Operations of one work.
MAX_OPERATIONS = 1000

Count = Annotated[int, Between(0, MAX_COUNT)]
AtLeastOne = Annotated[int, Between(1, MAX_COUNT)]
Name = Annotated[str, Length(MAX_ID)]
Text = Annotated[str, Length(MAX_TEXT)]
#: Of a driver: percent, milliseconds, seconds.
Figure = Annotated[float, Between(0, 1e15)]


def or_else(default: object, kind: Any) -> Parsed:
    """Return how a value is read that may be null, and then is the default.

    :param default: the value in the place of null
    :param kind: an annotation that accepts null
    :returns: for ``Annotated``
    """
    return Parsed(lambda found: default if found is None else found, kind,
                  lambda value: value)


#: Why something is as it is; '': there is nothing to say.
Reason = Annotated[str, or_else('', Text | None)]
