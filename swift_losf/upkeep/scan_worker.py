# SPDX-License-Identifier: Apache-2.0
"""Scans pieces of volumes into sorted runs, in a process of its own.

    python -m swift_losf.upkeep.scan_worker DIRECTORY

Each line of standard input is a task, a JSON object; each line of standard
output says which files have the records of one. It ends with its input.
"""

import json
import os
import sys
from itertools import islice

from swift_lightsync.common.parent import end_with_parent
from swift_losf.format.header import FormatError
from swift_losf.format.keys import PLACE
from swift_losf.index.known import is_in
from swift_losf.upkeep.sorted_runs import MOST, entry_of, write_run
from swift_losf.upkeep.volume_scan import PieceScan
from swift_losf.volumes.volume import read_header


def scan_piece(directory, path, number, start, end, part_power,
               most_metadata=0, gaps=None):
    """Put the records that begin in a piece of a volume into sorted runs.

    :param directory: of the runs
    :param path: of the volume
    :param number: of the volume
    :param start: the first offset of the piece
    :param end: behind it
    :param part_power: of the ring, or None
    :param most_metadata: bytes of metadata that an entry has at most
    :param gaps: hex digits of the Gaps whose hashes are wanted, and whose
        records were entered once, whatever their data is like now; None: all
    :returns: (the paths of the runs, how many records they have, the offsets
        of those that are incomplete)
    """
    runs: list[str] = []
    damaged: list[int] = []
    count = 0
    wanted = gaps and [tuple(map(bytes.fromhex, each)) for each in gaps]
    with open(path, 'rb', buffering=0) as volume:
        entries = _entries(PieceScan(
            volume.fileno(), read_header(volume.fileno()), start, end,
            lambda offset, _: damaged.append(offset), check_data=not gaps),
            number, part_power, most_metadata, wanted)
        while batch := list(islice(entries, MOST)):
            runs.append(os.path.join(directory, '%d-%d-%d.run' % (
                number, start, len(runs))))
            write_run(runs[-1], batch)
            count += len(batch)
            batch.clear()
    return runs, count, damaged


def _entries(scan, number, part_power, most_metadata, wanted):
    """Yield the entries of the records of a scan that are wanted."""
    for found in scan:
        try:
            entry = entry_of(number, found, part_power, most_metadata)
        except FormatError:
            continue
        if not wanted or is_in(wanted, entry[:PLACE]):
            yield entry


def main():
    """Work off the tasks, until there are no more."""
    end_with_parent()
    directory, = sys.argv[1:]
    for line in sys.stdin:
        print(json.dumps(scan_piece(directory, **json.loads(line))),
              flush=True)


if __name__ == '__main__':
    main()
