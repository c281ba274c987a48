# SPDX-License-Identifier: Apache-2.0
"""
Traffic as Swift's processes make it, monkey patched as they are.

    python -m tests.unit.losf.traffic SOCKET GREENLETS THREADS CALLS

Greenlets, and native threads of tpool at the same time, register and list
files of their own; a forked child, which inherits the connections, does so,
too. Prints a JSON object with what was seen.
"""

import json
import os
import sys
import time

from swift.common.concurrency import GreenPile, sleep, spawn, tpool
from swift.common.utils import monkey_patch

from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location
from swift_losf.index.index_client import IndexClient

TICK = 0.001


class Traffic:
    """
    :param client: an IndexClient
    :param calls: of each greenlet and thread
    """

    def __init__(self, client, calls):
        self.client = client
        self.calls = calls
        self.failures = []
        self.largest_gap = 0
        self.ended = False

    def tick(self):
        """Note for how long the hub did not come round."""
        while not self.ended:
            before = time.monotonic()
            sleep(TICK)
            self.largest_gap = max(self.largest_gap,
                                   time.monotonic() - before - TICK)

    def one(self, number):
        """Make the calls of one greenlet or thread."""
        object_hash = number.to_bytes(16, 'big')
        for call in range(1, self.calls, 2):
            name = '%016d.data' % call
            location = Location(number, call * 512, call, 2, 3)
            try:
                files = [self.client.register(number, object_hash, name,
                                              location, 0),
                         self.client.list_hash(number, object_hash)]
                self.client.remove(number, object_hash)
            except IndexUnavailable as err:
                self.failures.append(str(err))
            else:
                if files != [[(name, location)]] * 2:
                    self.failures.append('%s, not %s' % (files, name))

    def run(self, greenlets, threads, base=0):
        """
        :param base: the first number, of which each greenlet has its own
        :returns: seconds that all of it took
        """
        started = time.monotonic()
        ticker = spawn(self.tick)
        pile = GreenPile(greenlets + threads)
        for number in range(greenlets + threads):
            if number < greenlets:
                pile.spawn(self.one, base + number)
            else:
                pile.spawn(tpool.execute, self.one, base + number)
        list(pile)
        self.ended = True
        ticker.wait()
        return time.monotonic() - started


def main(path, greenlets, threads, calls):
    """:returns: what was seen, as a dict"""
    monkey_patch()
    client = IndexClient(path)
    client.statistics()
    reader, writer = os.pipe()
    child = os.fork()
    mine = Traffic(client, calls)
    spent = mine.run(greenlets, threads, base=0 if child else 1000)
    if not child:
        os.write(writer, json.dumps(mine.failures).encode()[:4096])
        os._exit(0)
    os.close(writer)
    with open(reader) as text:
        failures = mine.failures + json.loads(text.read())
    os.waitpid(child, 0)
    # Each round is of three calls, and stands for two.
    made = (greenlets + threads) * (calls // 2) * 3
    return {'failures': failures, 'calls': made,
            'largest_gap': mine.largest_gap, 'seconds': spent,
            'cpu_seconds': time.process_time()}


if __name__ == '__main__':
    json.dump(main(sys.argv[1], *map(int, sys.argv[2:])), sys.stdout)
