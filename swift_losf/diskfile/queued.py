# SPDX-License-Identifier: Apache-2.0
"""Suffixes that are to be hashed anew.

A writer queues a suffix before the index enters its file, as stock Swift does
before it links one: who dies in between leaves nothing that is not hashed. But
who hashes the suffix in between does not see the file, and takes the suffix
from the queue.
"""

import os
from typing import Any

from swift.obj.diskfile import HASH_INVALIDATIONS_FILE

#: Bytes at the end of the file that are looked at.
LOOKED_AT = 1 << 14


def keep_queued(manager: Any, suffix_path: str) -> None:
    """Queue a suffix once more if it is not queued any more. The partition
    may also have been deleted, before there was anything in it.

    :param manager: a diskfile manager
    :param suffix_path: the path of a suffix that has just changed
    """
    if not is_queued(suffix_path):
        manager.invalidate_hash(suffix_path)


def is_queued(suffix_path: str) -> bool:
    """Check that a suffix is among those that were last put down for
    rehashing: who takes it from there hashes what there is by then.

    :param suffix_path: a path below a partition directory
    """
    directory, suffix = os.path.split(suffix_path)
    try:
        with open(os.path.join(directory, HASH_INVALIDATIONS_FILE),
                  'rb') as lines:
            size = os.fstat(lines.fileno()).st_size
            lines.seek(max(0, size - LOOKED_AT))
            return b'%s\n' % suffix.encode('ascii') in lines.read()
    except OSError:
        # There is none, or it cannot be read: queued twice does no harm.
        return False
