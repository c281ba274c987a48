# SPDX-License-Identifier: Apache-2.0
"""A process that overwrites one object.

    python -m tests.unit.losf.kv_writer DEVICES OBJECT START

It prints the last of its timestamps, which is also the object's data.
"""

import sys
import time

from swift.common import storage_policy, utils
from swift.common.storage_policy import StoragePolicyCollection
from swift.common.utils import Timestamp, get_logger

from swift_losf.diskfile.kvfile import KVDiskFileManager
from tests.unit.losf.kv_world import PARTITION, policy

COUNT = 30


def main(devices, name, start):
    utils.HASH_PATH_PREFIX, utils.HASH_PATH_SUFFIX = b'pre', b'suf'
    storage_policy._POLICIES = StoragePolicyCollection([policy()])
    manager = KVDiskFileManager(
        {'devices': devices, 'mount_check': 'false'}, get_logger({}))
    deadline = time.monotonic() + 120
    for number in range(COUNT):
        assert time.monotonic() < deadline
        seconds = 2 * number + int(start)
        df = manager.get_diskfile('d1', PARTITION, 'a', 'c', name,
                                  storage_policy.POLICIES[0])
        with df.create() as writer:
            writer.write(b'%d' % seconds)
            writer.put({'X-Timestamp': Timestamp(seconds).internal,
                        'ETag': writer.chunks_finished()[1],
                        'Content-Length': str(len(str(seconds)))})
    print(seconds)


if __name__ == '__main__':
    main(*sys.argv[1:])
