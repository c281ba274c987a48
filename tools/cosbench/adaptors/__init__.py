# SPDX-License-Identifier: Apache-2.0
"""Adaptors: how drivers talk to a storage. ADAPTORS.md has the interface.

Other packages add theirs with entry points in the groups ``cosbench.auth``
and ``cosbench.storage``; a name of a built-in one stays the built-in one's.
"""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from cosbench.adaptors.base import Storage
from cosbench.errors import ConfigError
from cosbench.workload import inheritance
from cosbench.workload.config import Config
from cosbench.workload.endpoints import endpoints

_HERE = 'cosbench.adaptors.'
#: kind -> type -> where its class is.
BUILT_IN = {
    'auth': {
        'none': _HERE + 'none:NoneAuth',
        'mock': _HERE + 'mock:MockAuth',
        'swauth': _HERE + 'http_auth:TempAuth',
        'tempauth': _HERE + 'http_auth:TempAuth',
        'keystone': _HERE + 'keystone:Keystone',
        'token': _HERE + 'none:TokenAuth',
    },
    'storage': {
        'none': _HERE + 'none:NoneStorage',
        'mock': _HERE + 'mock:MockStorage',
        'swift': _HERE + 'swift:SwiftStorage',
        's3': _HERE + 's3:S3Storage',
    },
}


def _added(kind: str) -> dict[str, EntryPoint]:
    return {point.name.lower(): point for point in entry_points(
        group='cosbench.' + kind)}


def _names(kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*BUILT_IN[kind], *sorted(_added(kind))]))


def installed(makes: bool = True) -> inheritance.Adaptors:
    """Return the types of auth and storage that a workload may name here.

    :param makes: whether they are made to learn which keys they know
    """
    return inheritance.Adaptors(_names('auth'), _names('storage'),
                                storage_of if makes else None)


def load(kind, name):
    """Return the class that serves a type of auth or storage.

    :param kind: ``auth`` or ``storage``
    :param name: the type, as in a workload, in lower case
    :returns: a class: of ``base.Auth`` or ``base.Storage``
    :raises ConfigError: if none is installed, or it cannot be imported
    """
    if name in BUILT_IN[kind]:
        module, _, attribute = BUILT_IN[kind][name].partition(':')
        return getattr(import_module(module), attribute)
    found = _added(kind).get(name)
    if found is None:
        raise ConfigError.of(kind + ' type', name, 'one of %s; no adaptor '
                             'for another is installed'
                             % ', '.join(_names(kind)))
    try:
        return found.load()
    except (ImportError, AttributeError) as err:
        raise ConfigError('%s type %s: %s cannot be imported: %s' % (
            kind, name, found.value, err)) from err


def storage_of(auth, storage):
    """Make the storage of a work, with its auth.

    :param auth: a ``model.Auth``
    :param storage: a ``model.Storage``
    :returns: a ``base.Storage``, to be opened
    :raises ConfigError: if one of their configs is wrong
    """
    made = load('storage', storage.type)
    login = load('auth', auth.type)(auth.config)
    places = endpoints(storage.config)
    if not places:
        return made(storage.config, login)
    return Endpoints([
        made(storage.config.over(Config([('endpoint', place)])), login)
        for place in places])


class Endpoints(Storage):
    """Opens and closes the storages of all endpoints; workers ask each.

    :param storages: a ``Storage`` for each endpoint
    """

    def __init__(self, storages):
        self._storages = self.endpoints = tuple(storages)

    @property
    def resent(self):  # type: ignore[override]
        return sum(int(each.resent) for each in self._storages)

    async def open(self):
        for each in self._storages:
            await each.open()

    async def close(self):
        for each in self._storages:
            await each.close()
