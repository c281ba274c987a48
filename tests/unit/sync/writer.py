# SPDX-License-Identifier: Apache-2.0
"""A process that writes to a partition as an object-server does.

Arguments: devices directory, seed of the object names, number of writes. A
line on standard output says that it is ready, one on standard input that it
is to start.
"""

import sys
from contextlib import suppress

from swift.common import utils
from swift.obj.diskfile import consolidate_hashes

from tests.unit.sync.fixtures import PARTITION, SwiftTestCase


def main(devices_dir, seed, count):
    case = SwiftTestCase()
    case.setUp()
    case.conf['devices'] = case.devices_dir = devices_dir
    manager = case.manager()
    print('ready', flush=True)
    sys.stdin.readline()
    for number in range(count):
        written = False
        while not written:
            # Swift fails where a directory goes that was there a moment ago.
            with suppress(FileExistsError):
                case.put(manager, 'sda', 'o%d' % (number % 10),
                         stamp=1 + 2 * number + seed)
                written = True
        if number % 3 == seed:
            consolidate_hashes(case.part_path())
        if number % 5 == seed:
            manager._get_hashes('sda', PARTITION, case.policy)
    case.doCleanups()


if __name__ == '__main__':
    utils.validate_hash_conf = lambda: None
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
