# SPDX-License-Identifier: Apache-2.0
"""Which names a workload may give.

The names of workloads, workstages, works and operations become parts of
file names and cells of CSV reports. Container and object names become parts
of a URL, where clients resolve ``..`` before they send it. Neither may lead
elsewhere.
"""

import re
from collections.abc import Callable

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.model import Names, Trigger
from cosbench.workload.selector_text import parse

MAX_NAME = 128
#: Bytes that Swift allows in a container's name, and S3 fewer.
MAX_CONTAINER = 256
MAX_OBJECT = 1024
#: Those of Unicode that turn the direction of what follows, too: a name
#: would be read as another.
_CONTROL = re.compile(
    r'[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069'
    r'\ud800-\udfff]')
_TRIGGER = re.compile(r'([\w.-]+)\s*(?:\((.*)\))?')


def printable(key: str, text: str) -> str:
    """Return a text that has no line breaks or other control characters.

    :param key: the name of the setting, for the error
    :raises ConfigError: if it has some
    """
    if _CONTROL.search(text):
        raise ConfigError.of(key, text, 'without control characters')
    return text


def label(key: str, text: str, forbidden: str = '/\\') -> str:
    """Return the name of a part of a workload, trimmed.

    :param forbidden: characters that it must not contain
    :returns: a name that can be part of a file name
    :raises ConfigError: if the text cannot be one
    """
    text = printable(key, text.strip())
    if not text or len(text) > MAX_NAME:
        raise ConfigError.of(key, text, '1 to %d characters' % MAX_NAME)
    if set(text) <= {'.'} or set(text) & set(forbidden):
        raise ConfigError.of(key, text, "a name without any of %s, and not "
                             "only dots" % ' '.join(forbidden))
    return text


def containers(config: Config) -> Names:
    """Return the names that containers, cprefix and csuffix give.

    :raises ConfigError: if one of them could not be a container's
    """
    return _names(config, 'containers', 'mycontainers', MAX_CONTAINER,
                  _no_slash)


def objects(config: Config) -> Names:
    """Return the names that objects, oprefix and osuffix give.

    :raises ConfigError: if one of them could not be an object's
    """
    return _names(config, 'objects', 'myobjects', MAX_OBJECT, _no_dots)


def _names(config: Config, key: str, prefix: str, most: int,
           check: Callable[[str, str], None]) -> Names:
    names = Names(config.text(key[0] + 'prefix', prefix),
                  config.parsed(key, parse),
                  config.text(key[0] + 'suffix', ''))
    sample = names.name(names.selector.most)
    check(key, printable(key, sample))
    if len(sample.encode('utf8')) > most:
        raise ConfigError.of(key, sample, 'at most %d bytes long with its '
                             'prefix and suffix' % most)
    return names


def with_room(names: Names, more: int) -> None:
    """Check that names of objects can have something behind them.

    :param more: bytes that are put behind them
    :raises ConfigError: if that were too long
    """
    sample = names.name(names.selector.most)
    if len(sample.encode('utf8')) + more > MAX_OBJECT:
        raise ConfigError.of('objects', sample, 'at most %d bytes long with '
                             'partSize' % (MAX_OBJECT - more))


def _no_slash(key: str, text: str) -> None:
    if '/' in text:
        raise ConfigError.of(key, text, 'a name without /')


def _no_dots(key: str, text: str) -> None:
    if any(part in ('.', '..') for part in text.split('/')):
        raise ConfigError.of(key, text, 'without . or .. between slashes')


def directory(key: str, text: str) -> str:
    """Return a directory on the drivers, which ``..`` must not lead out of.

    :param key: the name of the setting, for the error
    :raises ConfigError: if it is empty, or leads elsewhere
    """
    if not text:
        raise ConfigError.of(key, text, 'a directory')
    _no_dots(key, text[2:] if text.startswith('./') else text)
    return printable(key, text)


def trigger(key: str, text: str) -> Trigger:
    """Return the trigger that a text means.

    :param key: the name of the setting, for the error
    :param text: ``script.sh(argument,...)``, or the script only
    :raises ConfigError: if the script is not a bare file name
    """
    match = _TRIGGER.fullmatch(printable(key, text.strip()))
    if match is None or set(match.group(1)) <= {'.'}:
        raise ConfigError.of(key, text, 'script(argument,...), where the '
                             'script is a file name without a directory')
    arguments = (match.group(2) or '').strip()
    return Trigger(match.group(1), tuple(
        each.strip() for each in arguments.split(',')) if arguments else ())
