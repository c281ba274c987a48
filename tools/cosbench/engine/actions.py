# SPDX-License-Identifier: Apache-2.0
"""What a worker does to a storage, by the type of the operation.

An action is a coroutine function without arguments that returns a
``Transfer`` and raises ``OperationError``. Each write has content of its
own, whose seed comes from the worker's random generator.
"""

import os

from cosbench.adaptors.base import OperationError
from cosbench.adaptors.content import Body, Checker, FileBody
from cosbench.engine.core.choices import targets
from cosbench.workload.model import OperationType

#: The class of the failure of a read whose trailer is not there or wrong.
CHECKSUM = 'checksum'
#: The class where a file cannot be read.
FILE = 'file'
#: Of a body's seed; with as many, no two of a run are equal.
_SEED_BITS = 64


async def _checked(storage, container, name):
    checker = Checker()
    transfer = await storage.get(container, name, checker.feed)
    if not checker.good:
        raise OperationError(CHECKSUM, '%s/%s' % (container, name))
    return transfer


def _read(operation, storage, choices, rng):
    container, name, get = choices.container, choices.object, storage.get
    if operation.hash_check:
        return lambda: _checked(storage, container(), name())
    return lambda: get(container(), name())


def _body(operation, size, rng):
    return Body(size, operation.content, rng.getrandbits(_SEED_BITS),
                operation.chunked, operation.hash_check, operation.dedup,
                operation.compress)


def _write(operation, storage, choices, rng):
    container, name, size = choices.container, choices.object, choices.size
    return lambda: storage.put(container(), name(),
                               _body(operation, size(), rng))


def _file_write(operation, storage, choices, rng):
    async def act():
        path = choices.path()
        try:
            body = FileBody(path, operation.hash_check)
            return await storage.put(choices.container(),
                                     os.path.basename(path), body)
        except OSError as err:
            raise OperationError(FILE, str(err)) from err
    return act


def _delete(operation, storage, choices, rng):
    container, name = choices.container, choices.object
    return lambda: storage.delete(container(), name())


def _list(operation, storage, choices, rng):
    container, name = choices.container, choices.object
    if container is None:
        return storage.list
    if name is None:
        return lambda: storage.list(container())
    return lambda: storage.list(container(), name())


_T = OperationType
#: Of a normal work: (operation, storage, its ``Choices``, rng) -> action.
ACTIONS = {_T.READ: _read, _T.WRITE: _write, _T.FILEWRITE: _file_write,
           _T.DELETE: _delete, _T.LIST: _list}


def pass_of(operation, storage, rng, counters, share):
    """
    The one pass that a worker of a special work makes.

    :param share: the worker's ``Share``
    :returns: an iterator of (operation id, action), in order
    """
    if operation.type is _T.DELAY:
        return iter(())
    size = operation.sizes and operation.sizes.picker(
        rng, counters.get(operation, 'sizes'))
    act = {
        _T.INIT: lambda container, _: storage.create_container(
            container, operation.headers),
        _T.DISPOSE: lambda container, _: storage.delete_container(container),
        _T.PREPARE: lambda container, name: storage.put(
            container, name, _body(operation, size(), rng)),
        _T.CLEANUP: lambda container, name: storage.delete(container, name),
    }[operation.type]
    return ((operation.id, _bound(act, *target))
            for target in targets(operation, share))


def _bound(act, container, name):
    return lambda: act(container, name)
