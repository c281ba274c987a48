# SPDX-License-Identifier: Apache-2.0
"""
How far the peers of a partition have come, in a file beside its log.

PROTOCOL.md, "Cursors".
"""

import json
import logging
from dataclasses import dataclass
from typing import Annotated, Dict, Literal

from swift_lightsync.common.files import replace_file
from swift_lightsync.common.records import Between, Record, RecordError

#: Longest file that is read, bytes; a peer takes about 20.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Cursors(Record):
    """
    What the file says.

    :param peers: device id -> the eversion up to which it holds everything
    :param version: of the format
    """
    peers: Dict[int, Annotated[int, Between(0, (1 << 64) - 1)]]
    version: Literal[1]


def read_cursors(path, logger=logging):
    """
    Read how far the peers have come.

    :param path: of the file
    :param logger: is told of a file that is damaged
    :returns: a dict, device id to the eversion up to which the device holds
        everything; empty if the file is missing or damaged: what is pushed
        again changes nothing
    """
    try:
        with open(path, 'rb') as cursors:
            return Cursors.parse(cursors.read(MAX_BYTES), MAX_BYTES).peers
    except FileNotFoundError:
        return {}
    except (OSError, RecordError) as err:
        logger.warning('Unable to read the cursors %s: %s', path, err)
        return {}


def write_cursors(path, cursors):
    """
    Replace the file as a whole, without syncing it.

    To be called by one process at a time, the converger.

    :param path: of the file
    :param cursors: a dict as that of :func:`read_cursors`
    :raises OSError: if it could not be written; what was there stays
    """
    document = Cursors(dict(sorted(cursors.items())), 1).to_json()
    replace_file(path, json.dumps(document).encode('ascii'))
