# SPDX-License-Identifier: Apache-2.0
"""
The auditor's walk, in a process of its own.

    python -m tools.benchmarks.losf.walk SWIFT_DIR CONF LIMIT SECONDS SEED

walks the devices of an object-server's conf as the auditor of zero byte files
does, which opens each object, and prints an Outcome as JSON. LIMIT and SECONDS
may be inf.
"""

import json
import math
import os
import random
import sys
import time
from dataclasses import asdict

from swift.common import utils

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf.client import Outcome
from tools.benchmarks.losf.rpc_count import CallCounter

#: files a second: as many as it can
UNLIMITED = 1000000000


def walk(worker, policy, limit, seconds):
    """
    :param worker: an AuditorWorker for zero byte files
    :param policy: the storage policy
    :param limit: of the objects; infinite: all
    :param seconds: after which no new object is begun
    :returns: (seconds, latencies of the objects)
    :raises BenchError: if it came to its end before
    """
    manager = worker.diskfile_router[policy]
    manager.clear_auditor_status(policy, worker.auditor_type)
    begin = last = time.perf_counter()
    latencies = []
    for location in manager.object_audit_location_generator(
            policy, auditor_type=worker.auditor_type):
        worker.object_audit(location)
        now = time.perf_counter()
        latencies.append(now - last)
        last = now
        if len(latencies) >= limit or now > begin + seconds:
            return last - begin, tuple(latencies)
    if limit == math.inf and latencies:
        return last - begin, tuple(latencies)
    raise BenchError('it ended after %d of %s objects' % (
        len(latencies), limit))


def main():
    swift_dir, conf_path = sys.argv[1:3]
    limit, seconds = map(float, sys.argv[3:5])
    utils.set_swift_dir(swift_dir)
    # These read swift.conf when they are imported.
    from swift.common.storage_policy import POLICIES
    from swift.obj.auditor import AuditorWorker
    conf = utils.readconf(conf_path, 'object-auditor')
    worker = AuditorWorker(conf, utils.get_logger(conf), None, None,
                           zero_byte_only_at_fps=UNLIMITED)
    # The order of the partitions.
    random.seed(sys.argv[5])
    counter = CallCounter()
    cpu = sum(os.times()[:2])
    found = walk(worker, POLICIES[0], limit, seconds)
    cpu = sum(os.times()[:2]) - cpu
    if worker.quarantines:
        raise BenchError('%d objects quarantined' % worker.quarantines)
    print(json.dumps(asdict(Outcome(*found, cpu, counter.value))))


if __name__ == '__main__':
    main()
