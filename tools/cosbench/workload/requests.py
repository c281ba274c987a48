# SPDX-License-Identifier: Apache-2.0
"""What an operation asks of a storage beyond one whole object.

COSBench 0.4.2 had nothing of it: pieces of an object, versions, objects in
parts, many deletes in one request.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.selector_text import parse, parse_sizes
from cosbench.workload.selectors import Constant, Selector, Sizes

#: Of one upload; S3 has the same limit.
MAX_PARTS = 10000
MAX_PARALLEL = 1000
#: Of one request, in S3 as here; Swift takes 10,000.
MAX_BATCH = 1000
#: Bytes of what the names of the parts of an object have behind its own.
PART_SUFFIX = 48


class Large(Enum):
    """What ties the parts of an object together in Swift; S3 has one way."""

    SLO = 'slo'
    DLO = 'dlo'


class Version(Enum):
    """Which version of an object is meant."""

    OLDEST = 'oldest'
    LATEST = 'latest'
    RANDOM = 'random'


@dataclass(frozen=True)
class Parts:
    """How a large object is uploaded."""

    #: Bytes of each but the last.
    size: int
    #: How many at the same time.
    parallel: int = 1
    large: Large = Large.SLO


@dataclass(frozen=True)
class Piece:
    """Which bytes of an object are read: a range, or a part."""

    length: Sizes | None = None
    #: None: from its first byte.
    offset: Sizes | None = None
    #: The part of an object that was uploaded in parts, from 1.
    part: Selector | None = None


def one_size(key: str, text: str) -> int:
    """Parse a size that is always the same, in bytes."""
    sizes = parse_sizes(key, text)
    if not isinstance(sizes.selector, Constant) or not sizes.least:
        raise ConfigError.of(key, text, 'c(n) with n >= 1 and a unit')
    return sizes.least


def parts(config: Config, sizes: Sizes) -> Parts | None:
    """Return how a config has its objects uploaded.

    :returns: in which parts; None: each in one request
    :raises ConfigError: if a key has a wrong value, or nothing to say
    """
    size = config.parsed('partSize', one_size, None)
    if size is None:
        for key in ('large', 'parallel'):
            if key in config:
                raise ConfigError.of(key, config[key],
                                     'together with partSize')
        return None
    if config.flag('hashCheck', False) or config.flag('chunked', False):
        raise ConfigError.of('partSize', config['partSize'],
                             'without hashCheck and chunked')
    if sizes.selector.most * sizes.unit > size * MAX_PARTS:
        raise ConfigError.of('partSize', config['partSize'], 'such that the '
                             'largest object has at most %d parts'
                             % MAX_PARTS)
    return Parts(size, config.integer('parallel', 1, 1, MAX_PARALLEL),
                 config.choice('large', Large, Large.SLO))


def piece(config: Config) -> Piece | None:
    """Return what of an object a config has read.

    :returns: a piece; None: all of it
    :raises ConfigError: if a key has a wrong value, or two do not fit
    """
    found: dict[str, Any] = {
        'length': config.parsed('length', parse_sizes, None),
        'offset': config.parsed('offset', parse_sizes, None),
        'part': config.parsed('part', parse, None)}
    if found['offset'] is not None and found['length'] is None:
        raise ConfigError.of('offset', config['offset'],
                             'together with length')
    if found['part'] is not None and (found['length'] is not None
                                      or not found['part'].least):
        raise ConfigError.of('part', config['part'], 'numbers from 1 on, '
                             'without length')
    if found['length'] is not None and not found['length'].least:
        raise ConfigError.of('length', config['length'], 'at least 1 byte')
    asked = [key for key in found if found[key] is not None]
    if asked and config.flag('hashCheck', False):
        raise ConfigError.of(asked[0], config[asked[0]],
                             'without hashCheck, which needs all of it')
    return Piece(**found) if asked else None
