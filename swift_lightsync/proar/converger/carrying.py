# SPDX-License-Identifier: Apache-2.0
"""Carries the few open entries of a segment along to a newer one.

They are durable there before their segment is removed. A crash between the
two leaves both: an entry that is pushed twice changes nothing.
"""

from dataclasses import replace

from swift_lightsync.proar.log.device_log import DeviceLog


def carry_along(device_path, log, entries, number, logger):
    """Write entries anew, and remove their segment; it blocks.

    :param device_path: of the device
    :param log: its FollowedLog
    :param entries: those of the segment that some device may lack
    :param number: of the segment
    :param logger: is told of segments that are damaged
    :returns: whether the segment is gone
    :raises OSError: if they cannot be written; the segment stays
    """
    writer = DeviceLog(device_path, logger)
    try:
        intents = [writer.begin(replace(entry, eversion=0))
                   for entry in entries]
        for intent in intents:
            intent.begin_sync()
        for intent in intents:
            intent.sync()
    finally:
        writer.close()
    return log.remove(number)
