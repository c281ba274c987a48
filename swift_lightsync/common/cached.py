# SPDX-License-Identifier: Apache-2.0
"""Values that objects work out when they are first asked for.

Until Python 3.12, functools has one lock for all objects of a class. In a
server eventlet makes it a green one, and a pool thread that has waited for it
is never woken.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Value = TypeVar('_Value')


class cached_property(Generic[_Value]):  # noqa: N801
    """A property whose value is kept. Threads that ask for it at the same
    time may each work it out.

    :param method: works it out
    """

    def __init__(self, method: Callable[[Any], _Value]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        # This has no __set__: what the object has goes first.
        value = instance.__dict__[self._method.__name__] = \
            self._method(instance)
        return value
