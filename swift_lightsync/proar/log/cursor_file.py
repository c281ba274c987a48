# SPDX-License-Identifier: Apache-2.0
"""
How far the peers of a partition have come, in a file beside its log.
PROTOCOL.md, "Cursors".
"""

import json
import logging
import os

VERSION = 1
#: Longest file that is read, bytes; a peer takes about 20.
MAX_BYTES = 1 << 20


def read_cursors(path, logger=logging):
    """
    :param path: of the file
    :param logger: is told of a file that is damaged
    :returns: a dict, device id to the eversion up to which the device holds
        everything; empty if the file is missing or damaged: what is pushed
        again changes nothing
    """
    try:
        with open(path, 'rb') as cursors:
            return _from_json(cursors.read(MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, LookupError, TypeError, ValueError, AttributeError,
            RecursionError) as err:
        logger.warning('Unable to read the cursors %s: %s', path, err)
        return {}


def _from_json(data):
    stored = json.loads(data)
    if stored['version'] != VERSION:
        raise ValueError('version is %r, must be %d'
                         % (stored['version'], VERSION))
    return {int(device_id): _eversion(cursor)
            for device_id, cursor in stored['peers'].items()}


def _eversion(value):
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError('not an eversion: %.80r' % (value,))
    return value


def write_cursors(path, cursors):
    """
    Replace the file as a whole. It is not synced. To be called by one
    process at a time, the converger.

    :param path: of the file
    :param cursors: a dict as that of :func:`read_cursors`
    :raises OSError: if it could not be written; what was there stays
    """
    fresh = path + '.new'
    with open(fresh, 'w', encoding='ascii') as file:
        json.dump({'version': VERSION, 'peers': {
            str(device_id): cursor
            for device_id, cursor in sorted(cursors.items())}}, file)
    os.rename(fresh, path)
