# SPDX-License-Identifier: Apache-2.0
"""Where a process gets the segments from that it writes.

It goes on with one that has room and whose writer has died, or makes the next
one. PROTOCOL.md, "The log".
"""

import os
from contextlib import suppress

from swift_lightsync.proar.core.oplog import CAPACITY, FormatError, State
from swift_lightsync.proar.log.holdings import DAMAGED
from swift_lightsync.proar.log.segment import (
    make_segment,
    numbers,
    open_segment,
    segment_path,
)

#: A segment with less room for records is not taken.
HEADROOM = 1024
#: so many of the newest segments are looked at for room
LOOKED_AT = 16


def take_segment(directory, without, logger):
    """Become the writer of a segment that has room, made if need be.

    The directory is made if it is missing; the device is not.

    :param directory: of the device's log
    :param without: numbers of the segments that are not to be taken
    :param logger: is told of segments that are damaged
    :returns: a Segment
    :raises OSError: if there is no room for one
    """
    with suppress(FileExistsError):
        os.mkdir(directory)
    for number in numbers(directory)[:-LOOKED_AT - 1:-1]:
        if number in without:
            continue
        path = segment_path(directory, number)
        try:
            segment = open_segment(path)
        except FormatError as err:
            aside = path + DAMAGED
            os.rename(path, aside)
            logger.error('A damaged log is %s now: %s', aside, err)
            continue
        if segment is None:
            continue
        if segment.lock() and segment.is_named() and _is_sound(segment):
            return segment
        segment.close()
    return new_segment(directory)


def _is_sound(segment):
    """Return whether records can follow those of a segment.

    If so, the disk has to tell what became of its intents.
    """
    entries = segment.entries()
    if len(entries) + HEADROOM > CAPACITY or not all(
            entry and segment.eversion(index) == eversion
            for index, (eversion, entry) in enumerate(entries, 1)):
        return False
    for index, (_, entry) in enumerate(entries, 1):
        if entry.state is State.INTENT:
            segment.note(index, State.UNDECIDED)
    return True


def new_segment(directory):
    """Make the next segment of a log, and become its writer.

    :param directory: of the device's log
    :returns: a Segment
    :raises OSError: if there is no room for it
    """
    number, identity = _newest(directory)
    while True:
        number += 1
        segment = make_segment(segment_path(directory, number), identity)
        if segment:
            return segment


def _newest(directory):
    """Return what the segments of a log have come to.

    :returns: the number of the last one whose maker came to an end, and what
        all of them have in common; 0 and that of a new log
    """
    for number in reversed(numbers(directory)):
        with suppress(FormatError):
            segment = open_segment(segment_path(directory, number),
                                   os.O_RDONLY)
            if segment:
                segment.close()
                return number, segment.header.identity
    return 0, os.urandom(16)
