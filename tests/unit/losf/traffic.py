# SPDX-License-Identifier: Apache-2.0
"""Traffic as Swift's processes make it, monkey patched as they are.

    python -m tests.unit.losf.traffic SOCKET GREENLETS THREADS ROUNDS

Greenlets, and native threads of tpool at the same time, register and list
files of their own; a forked child, which inherits the connections, does so,
too. Prints a JSON list of what failed.
"""

import json
import os
import sys

from swift.common.concurrency import GreenPile, tpool
from swift.common.utils import monkey_patch

from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location
from swift_losf.index.index_client import IndexClient


def make_calls(client, number, rounds):
    """Yield what fails of the calls of one greenlet or thread."""
    object_hash = number.to_bytes(16, 'big')
    for each in range(rounds):
        name = '%016d.data' % each
        location = Location(number, 4096 + each * 512, each, 2, len(name))
        try:
            files = [client.register(number, object_hash, name, location,
                                     4096),
                     client.list_hash(number, object_hash)]
            client.remove(number, object_hash)
        except IndexUnavailable as err:
            yield str(err)
        else:
            if files != [[(name, location)]] * 2:
                yield '%s, not %s' % (files, name)


def run(client, greenlets, threads, rounds, base):
    """Return what fails; each greenlet has a number of its own from base."""
    def one(number):
        return list(make_calls(client, number, rounds))
    pile = GreenPile(greenlets + threads)
    for number in range(base, base + greenlets):
        pile.spawn(one, number)
    for number in range(base + greenlets, base + greenlets + threads):
        pile.spawn(tpool.execute, one, number)
    return sum(pile, [])


def main(path, *numbers):
    """Return what failed, in this process and in a child."""
    monkey_patch()
    client = IndexClient(path)
    client.statistics()
    reader, writer = os.pipe()
    child = os.fork()
    failures = run(client, *numbers, base=1 if child else 1001)
    if not child:
        os.write(writer, json.dumps(failures).encode()[:4096])
        os._exit(0)
    os.close(writer)
    with open(reader) as text:
        failures += json.loads(text.read())
    os.waitpid(child, 0)
    return failures


if __name__ == '__main__':
    json.dump(main(sys.argv[1], *map(int, sys.argv[2:])), sys.stdout)
