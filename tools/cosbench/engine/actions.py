# SPDX-License-Identifier: Apache-2.0
"""What a worker does to a storage, by the type of the operation.

An action is a coroutine function without arguments that returns a
``Transfer`` and raises ``OperationError``. Each write has content of its
own, whose seed comes from the worker's random generator.
"""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cosbench.adaptors.base import OperationError, Want
from cosbench.adaptors.content import Body, Checker, FileBody
from cosbench.engine.core.choices import Choices, targets
from cosbench.engine.core.mission import endpoint_rows
from cosbench.engine.known import Known
from cosbench.workload.model import OperationType

#: The class of the failure of a read whose trailer is not there or wrong.
CHECKSUM = 'checksum'
#: The class where a file cannot be read.
FILE = 'file'
#: Of a body's seed; with as many, no two of a run are equal.
_SEED_BITS = 64


@dataclass(frozen=True)
class Setting:
    """What an action of one worker is made of, beside its operation."""

    storage: Any
    rng: Any
    #: Called with each part of an upload: see ``Storage.upload``.
    note: Callable
    #: None where the operation goes through all that there is.
    choices: Choices | None = None
    known: Known = field(default_factory=Known)


async def _checked(get, container, name, *want):
    checker = Checker()
    transfer = await get(container, name, checker.feed, *want)
    if not checker.good:
        raise OperationError(CHECKSUM, '%s/%s' % (container, name))
    return transfer


def _read(operation, setting):
    choices, get = setting.choices, setting.storage.get
    container, name = choices.container, choices.object
    want = _wanting(operation, setting)
    if want is not None:
        async def act():
            return await _after(want, container(), name(), (
                lambda *args: _checked(get, *args)) if operation.hash_check
                else lambda place, key, want: get(place, key, None, want))
        return act
    if operation.hash_check:
        return lambda: _checked(get, container(), name())
    return lambda: get(container(), name())


def _wanting(operation, setting):
    """Return what finds out what a request asks for beside a name.

    :returns: a coroutine function of container and object that returns a
        ``Want``; None, if it is the object as it is
    """
    rng, headers = setting.rng, operation.object_headers
    if operation.version is not None:
        find = setting.known.taken if operation.type is _T.DELETE \
            else setting.known.version

        async def found(*place):
            version = await find(setting.storage, place, operation.version,
                                 rng)
            return Want(headers, version, *(piece() if piece else ()))
    elif operation.piece or headers:
        async def found(*place):
            return Want(headers, None, *(piece() if piece else ()))
    else:
        return None
    piece = operation.piece and setting.choices.piece
    return found


async def _after(want, container, name, ask):
    """Do what is measured after it is known what to ask for."""
    found = await want(container, name)
    started = time.monotonic()
    return (await ask(container, name, found))._replace(started=started)


def _plain(ask):
    """Return the maker of the actions of a request that moves no data.

    :param ask: a function of the storage that returns its method
    """
    def make(operation, setting):
        choices, method = setting.choices, ask(setting.storage)
        container, name = choices.container, choices.object
        want = _wanting(operation, setting)
        if want is None:
            return lambda: method(container(), name())
        return lambda: _after(want, container(), name(), method)
    return make


def _delete(operation, setting):
    choices, storage = setting.choices, setting.storage
    if operation.with_parts:
        return lambda: storage.delete_with_parts(
            choices.container(), choices.object())
    return _plain(lambda storage: storage.delete)(operation, setting)


def _bulk_delete(operation, setting):
    choices, batch = setting.choices, range(operation.batch)
    return lambda: setting.storage.bulk_delete(choices.container(), list(
        dict.fromkeys(choices.object() for _ in batch)))


def _body(operation, size, seed):
    return Body(size, operation.content, seed, operation.chunked,
                operation.hash_check, operation.dedup, operation.compress)


def _put(operation, setting):
    """Return a coroutine function of container, object and size."""
    rng, headers = setting.rng, operation.object_headers
    put, parts = setting.storage.put, operation.parts
    wants = (Want(headers),) if headers else ()
    if parts is None:
        return lambda container, name, size: put(
            container, name,
            _body(operation, size, rng.getrandbits(_SEED_BITS)), *wants)

    def upload(container, name, size):
        bodies = [_body(operation, min(parts.size, size - place),
                        rng.getrandbits(_SEED_BITS))
                  for place in range(0, max(size, 1), parts.size)]
        return setting.storage.upload(container, name, bodies, parts,
                                      setting.note, *wants)
    return upload


def _write(operation, setting):
    choices, put = setting.choices, _put(operation, setting)
    container, name, size = choices.container, choices.object, choices.size
    return lambda: put(container(), name(), size())


def _append(operation, setting):
    storage, choices, known = setting.storage, setting.choices, setting.known
    want = Want(operation.object_headers)

    async def act():
        place, more = (choices.container(), choices.object()), choices.size()
        size = await known.length(storage, place) + more
        if operation.limit is not None and size > operation.limit:
            size = more
        # The begin of a body does not change with its size.
        seed = int.from_bytes(hashlib.sha256(
            '\0'.join(place).encode('utf8')).digest()[:8], 'big')
        started = time.monotonic()
        known.written(place, None)
        transfer = await storage.put(*place, _body(operation, size, seed),
                                     want)
        known.written(place, size)
        return transfer._replace(started=started)
    return act


def _file_write(operation, setting):
    choices, storage = setting.choices, setting.storage
    headers = operation.object_headers
    wants = (Want(headers),) if headers else ()

    async def act():
        path = choices.path()
        try:
            body = FileBody(path, operation.hash_check)
            return await storage.put(choices.container(),
                                     os.path.basename(path), body, *wants)
        except OSError as err:
            raise OperationError(FILE, str(err)) from err
    return act


def _list(operation, setting):
    container, name = setting.choices.container, setting.choices.object
    storage = setting.storage
    if container is None:
        return storage.list
    ask = storage.list_versions if operation.versions else storage.list
    if name is None:
        return lambda: ask(container())
    return lambda: ask(container(), name())


_T = OperationType
#: Of a normal work: (operation, ``Setting``) -> action.
ACTIONS = {_T.READ: _read, _T.WRITE: _write, _T.FILEWRITE: _file_write,
           _T.DELETE: _delete, _T.LIST: _list,
           _T.HEAD: _plain(lambda storage: storage.head),
           _T.POST: _plain(lambda storage: storage.post),
           _T.APPEND: _append, _T.BULK_DELETE: _bulk_delete}


def pass_of(operation, settings, counters, share):
    """Return the one pass that a worker of a special work makes.

    :param settings: a ``Setting`` without choices for each endpoint
    :param share: the worker's ``Share``
    :returns: an iterator of (operation id, action, rows), in order
    """
    if operation.type is _T.DELAY:
        return iter(())
    acts = [_pass(operation, setting, counters) for setting in settings]
    rows = endpoint_rows(operation.id, len(acts))
    return ((operation.id, _bound(acts[number % len(acts)], *target),
             rows[number % len(acts)]) for number, target in enumerate(
                 targets(operation, share), share.index))


def _pass(operation, setting, counters):
    """Return a function of container and object that a pass calls."""
    storage = setting.storage
    if operation.type is _T.INIT:
        return lambda container, _: storage.create_container(
            container, operation.headers)
    if operation.type is _T.DISPOSE:
        return lambda container, _: storage.delete_container(container)
    if operation.type is _T.CLEANUP:
        return storage.delete_with_parts if operation.with_parts \
            else storage.delete
    size = operation.sizes.picker(setting.rng,
                                  counters.get(operation, 'sizes'))
    put = _put(operation, setting)
    return lambda container, name: put(container, name, size())


def _bound(act, container, name):
    return lambda: act(container, name)
