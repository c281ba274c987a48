# SPDX-License-Identifier: Apache-2.0
"""What each operation needs from its config."""

from collections.abc import Callable
from typing import Any

from cosbench.errors import ConfigError
from cosbench.workload import names, requests
from cosbench.workload.config import Config, choice
from cosbench.workload.headers import CONTAINER, OBJECT, headers
from cosbench.workload.model import (
    HASH_TRAILER,
    Content,
    Division,
    FileSelection,
    OperationType,
    WorkType,
)
from cosbench.workload.selector_text import parse_sizes
from cosbench.workload.selectors import OPEN_END

_T = OperationType
#: The operations that a work may name; the others make special works.
NAMED = (_T.READ, _T.WRITE, _T.FILEWRITE, _T.DELETE, _T.LIST, _T.HEAD,
         _T.POST, _T.APPEND, _T.BULK_DELETE)
#: The same, for errors.
NAMED_TYPES = 'one of ' + ', '.join(kind.value for kind in NAMED)
#: How a special work divides what there is.
SPECIAL = {
    WorkType.INIT: (_T.INIT, Division.CONTAINER),
    WorkType.PREPARE: (_T.PREPARE, Division.OBJECT),
    WorkType.CLEANUP: (_T.CLEANUP, Division.OBJECT),
    WorkType.DISPOSE: (_T.DISPOSE, Division.CONTAINER),
    WorkType.DELAY: (_T.DELAY, Division.NONE),
}
#: Fields of ``Operation``, by name.
Fields = dict[str, Any]


def _target(config: Config) -> Fields:
    return {'containers': names.containers(config),
            'objects': names.objects(config),
            'object_headers': headers(config, OBJECT)}


def _verified(config: Config) -> Fields:
    return {'hash_check': config.flag('hashCheck', False)}


def _read(config: Config) -> Fields:
    return {**_head(config), **_verified(config),
            'piece': requests.piece(config)}


def _head(config: Config) -> Fields:
    return {**_target(config), 'version': config.choice(
        'version', requests.Version, None)}


def _post(config: Config) -> Fields:
    found = _target(config)
    if not found['object_headers']:
        raise ConfigError('header.NAME=VALUE is missing from the config: a '
                          'post without it has nothing to write')
    return found


def _delete(config: Config) -> Fields:
    return {**_head(config), 'with_parts': config.flag('withParts', False)}


def _bulk_delete(config: Config) -> Fields:
    return {'containers': names.containers(config),
            'objects': names.objects(config),
            'batch': config.integer('batch', 100, 1, requests.MAX_BATCH)}


def _content(config: Config) -> Fields:
    found = {'content': config.choice('content', Content, Content.RANDOM)}
    for key in ('dedup', 'compress'):
        found[key] = config.integer(key, 0, most=100)
        if found[key] and found['content'] is not Content.RANDOM:
            raise ConfigError.of(key, config[key], '0, or together with '
                                 'content=random')
    return found


def _sized(config: Config) -> Fields:
    fields = {**_target(config), **_verified(config), **_content(config),
              'sizes': config.parsed('sizes', parse_sizes),
              'chunked': config.flag('chunked', False)}
    if fields['hash_check'] and fields['sizes'].least < HASH_TRAILER:
        raise ConfigError.of('sizes', config['sizes'], 'at least %d bytes '
                             'with hashCheck' % HASH_TRAILER)
    return fields


def _write(config: Config) -> Fields:
    fields = _sized(config)
    parts = requests.parts(config, fields['sizes'])
    if parts:
        names.with_room(fields['objects'], requests.PART_SUFFIX)
    return {**fields, 'parts': parts}


def _append(config: Config) -> Fields:
    return {**_sized(config), 'limit': config.parsed(
        'upTo', requests.one_size, None)}


def _file_write(config: Config) -> Fields:
    return {'containers': names.containers(config),
            'object_headers': headers(config, OBJECT),
            'files': config.parsed('files', names.directory),
            'file_selection': config.parsed(
                'fileselection', _file_selection),
            **_verified(config)}


def _file_selection(key: str, text: str) -> FileSelection:
    # COSBench took the first letter of any text.
    for member in FileSelection:
        if text[:1] == member.value:
            return member
    raise ConfigError.of(key, text, 'one of u, r, s')


def _list(config: Config) -> Fields:
    if 'containers' not in config and 'objects' not in config:
        return {}
    found = {'containers': names.containers(config),
             'versions': config.flag('versions', False)}
    if 'objects' in config:
        found['objects'] = names.objects(config)
    return found


def _finite(fields: Fields) -> Fields:
    for each in ('containers', 'objects'):
        if each in fields and fields[each].selector.most >= OPEN_END:
            raise ConfigError('%s has no end, and a special work goes '
                              'through all of it' % each)
    return fields


def _dispose(config: Config) -> Fields:
    return _finite({'containers': names.containers(config)})


def _init(config: Config) -> Fields:
    return {**_dispose(config), 'headers': headers(config, CONTAINER)}


def _prepare(config: Config) -> Fields:
    return {**_finite(_write(config)),
            'with_containers': config.flag('createContainer', False),
            'headers': headers(config, CONTAINER)}


def _cleanup(config: Config) -> Fields:
    return {**_finite(_target(config)),
            'with_containers': config.flag('deleteContainer', False),
            'with_parts': config.flag('withParts', False)}


_FIELDS: dict[OperationType, Callable[[Config], Fields]] = {
    _T.READ: _read, _T.WRITE: _write, _T.FILEWRITE: _file_write,
    _T.DELETE: _delete, _T.LIST: _list, _T.HEAD: _head, _T.POST: _post,
    _T.APPEND: _append, _T.BULK_DELETE: _bulk_delete,
    _T.INIT: _init, _T.PREPARE: _prepare, _T.CLEANUP: _cleanup,
    _T.DISPOSE: _dispose, _T.DELAY: lambda config: {},
}


def fields(kind: OperationType, config: Config) -> Fields:
    """Return the fields of ``Operation`` that come from the config.

    :raises ConfigError: if a key is missing or has a wrong value
    """
    return _FIELDS[kind](config)


def operation_type(key: str, text: str) -> OperationType:
    """Return the type of operation that a work names.

    :param key: the name of the attribute, for the error
    :returns: one of ``NAMED``
    :raises ConfigError: for any other
    """
    kind = choice(key, text, OperationType)
    if kind not in NAMED:
        raise ConfigError.of(key, text, NAMED_TYPES + '; to %s, make a work '
                             'of that type' % kind.value)
    return kind
