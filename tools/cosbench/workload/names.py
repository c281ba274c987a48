# SPDX-License-Identifier: Apache-2.0
"""Which names a workload may give.

The names of workloads, workstages, works and operations become parts of
file names and cells of CSV reports. Container and object names become parts
of a URL, where clients resolve ``..`` before they send it. Neither may lead
elsewhere.
"""

import re

from cosbench.errors import ConfigError
from cosbench.workload.model import Names, Trigger
from cosbench.workload.selectors import parse

MAX_NAME = 128
#: Bytes that Swift allows in a container's name, and S3 fewer.
MAX_CONTAINER = 256
MAX_OBJECT = 1024
_CONTROL = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_TRIGGER = re.compile(r'([\w.-]+)\s*(?:\((.*)\))?')


def printable(key, text):
    """
    :returns: the text
    :raises ConfigError: if it has line breaks or other control characters
    """
    if _CONTROL.search(text):
        raise ConfigError.of(key, text, 'without control characters')
    return text


def label(key, text, forbidden='/\\'):
    """
    :param key: what is named, for the error
    :param text: the name of a part of a workload
    :param forbidden: characters that it must not contain
    :raises ConfigError: if it cannot be part of a file name
    """
    text = printable(key, text.strip())
    if not text or len(text) > MAX_NAME:
        raise ConfigError.of(key, text, '1 to %d characters' % MAX_NAME)
    if set(text) <= {'.'} or set(text) & set(forbidden):
        raise ConfigError.of(key, text, "a name without any of %s, and not "
                             "only dots" % ' '.join(forbidden))
    return text


def containers(config):
    """
    :returns: the ``Names`` that containers, cprefix and csuffix give
    """
    return _names(config, 'containers', 'mycontainers', MAX_CONTAINER,
                  _no_slash)


def objects(config):
    """
    :returns: the ``Names`` that objects, oprefix and osuffix give
    """
    return _names(config, 'objects', 'myobjects', MAX_OBJECT, _no_dots)


def _names(config, key, prefix, most, check):
    names = Names(config.text(key[0] + 'prefix', prefix),
                  config.parsed(key, parse),
                  config.text(key[0] + 'suffix', ''))
    sample = names.name(names.selector.most)
    check(key, printable(key, sample))
    if len(sample.encode('utf8')) > most:
        raise ConfigError.of(key, sample, 'at most %d bytes long with its '
                             'prefix and suffix' % most)
    return names


def _no_slash(key, text):
    if '/' in text:
        raise ConfigError.of(key, text, 'a name without /')


def _no_dots(key, text):
    if any(part in ('.', '..') for part in text.split('/')):
        raise ConfigError.of(key, text, 'without . or .. between slashes')


def directory(key, text):
    """A directory on the drivers, which ``..`` must not lead out of."""
    if not text:
        raise ConfigError.of(key, text, 'a directory')
    _no_dots(key, text[2:] if text.startswith('./') else text)
    return printable(key, text)


def trigger(key, text):
    """
    :param text: ``script.sh(argument,...)``, or the script only
    :returns: a ``Trigger``
    :raises ConfigError: if the script is not a bare file name
    """
    match = _TRIGGER.fullmatch(printable(key, text.strip()))
    if match is None or set(match.group(1)) <= {'.'}:
        raise ConfigError.of(key, text, 'script(argument,...), where the '
                             'script is a file name without a directory')
    arguments = (match.group(2) or '').strip()
    return Trigger(match.group(1), tuple(
        each.strip() for each in arguments.split(',')) if arguments else ())
