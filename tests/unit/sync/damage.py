# SPDX-License-Identifier: Apache-2.0
"""What the tests of messages share: refusal, and the memory that it takes."""

import tracemalloc
import unittest

from swift_lightsync.sync.wire.sync_message import SyncMessageError


class MessageTestCase(unittest.TestCase):

    def assert_refused(self, decode, data, reason=''):
        with self.assertRaisesRegex(SyncMessageError, reason):
            decode(data)


def allocated(decode, data):
    """Return the most bytes that are held while a message is decoded."""
    tracemalloc.start()
    try:
        decode(data)
    except SyncMessageError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most
