# SPDX-License-Identifier: Apache-2.0
"""What a world uses: processes, descriptors, logs."""

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from glob import glob

#: by how much the descriptors of a daemon may grow: it has files of more
#: objects open, and connections to more nodes
MORE_DESCRIPTORS = 256
#: lines a minute of one log
MOST_LINES = 6000


@dataclass(frozen=True)
class Census:
    """What is used at one time.

    :param processes: (site, node, daemon) -> how many
    :param descriptors: of the same, how many its processes have at most
    :param deleted: of the same, how many of them are of deleted files
    """
    processes: Counter = field(default_factory=Counter)
    descriptors: Counter = field(default_factory=Counter)
    deleted: Counter = field(default_factory=Counter)

    @classmethod
    def of(cls, world):
        """Count what a World uses now."""
        census = cls()
        for site, cluster in world.clusters.items():
            for node in (None, *cluster.spec.node_numbers()):
                for process in cluster.daemons.of_node(node):
                    census._add((site, node, cluster.daemons.name(process)),
                                process.pid)
        return census

    def _add(self, key, pid):
        found = []
        with suppress(FileNotFoundError, ProcessLookupError):
            for path in glob('/proc/%d/fd/*' % pid):
                with suppress(FileNotFoundError):
                    found.append(os.readlink(path))
        self.processes[key] += 1
        self.descriptors[key] = max(self.descriptors[key], len(found))
        self.deleted[key] += sum(each.endswith(' (deleted)')
                                 for each in found)

    def leaks(self, before):
        """Yield what is used more than in an earlier census."""
        for key, number in self.processes.items():
            if number > before.processes[key]:
                yield '%s: %d processes, %d before' % (
                    key, number, before.processes[key])
            if key in before.processes and self.descriptors[key] > \
                    before.descriptors[key] + MORE_DESCRIPTORS:
                yield '%s: %d descriptors, %d before' % (
                    key, self.descriptors[key], before.descriptors[key])
            if self.deleted[key] > before.deleted[key] + MORE_DESCRIPTORS:
                yield '%s: %d deleted files are open' % (
                    key, self.deleted[key])


def logged(world, minutes):
    """Return what the logs of a World say.

    :returns: a list of logs with too many lines, and a Counter of the last
        lines of tracebacks
    """
    floods, ends = [], Counter()
    for site, cluster in world.clusters.items():
        for path in glob(os.path.join(cluster.layout.logs, '*.log')):
            name = os.path.basename(path)
            with open(path, errors='replace') as log:
                text = log.read()
            lines = text.count('\n')
            # Of the requests there are as many as the clients make.
            if lines > MOST_LINES * minutes and 'access' not in name:
                floods.append('%s: %s has %d lines' % (site, name, lines))
            for trace in re.findall(
                    r'Traceback \(most recent call last\)(.*)', text):
                last = re.split(r'#012|\n', trace.split(' (txn')[0])[-1]
                ends[name.partition('.')[0],
                     re.sub(r'/\S+', '…', last)[:160]] += 1
    return floods, ends
