# SPDX-License-Identifier: Apache-2.0
"""Measurements that no client can make: CPU and memory of servers, and I/Os of
devices.
"""

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from glob import glob
from typing import Any

import psutil

from tools import ToolError
from tools.arguments import MIB
from tools.cluster import commands

#: KiB that the kernel reads ahead of a disk; of an image it may be more.
READ_AHEAD = 128


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return what processes and their late children have used so far."""
    # user, system, and both of the children
    return sum(sum(psutil.Process(pid).cpu_times()[:4]) for pid in pids)


def own_cpu_seconds(*who: int) -> float:
    """Return what this process has used, to the microsecond.

    :param who: of RUSAGE_SELF and RUSAGE_CHILDREN; none: both
    """
    return sum(used.ru_utime + used.ru_stime for used in map(
        resource.getrusage, who or (resource.RUSAGE_SELF,
                                    resource.RUSAGE_CHILDREN)))


def cpu_ms(pids: Iterable[int]) -> float:
    """Return what processes have used so far, without their children, ms."""
    total = 0
    for pid in pids:
        for schedstat in glob('/proc/%d/task/*/schedstat' % pid):
            with open(schedstat) as times:
                total += int(times.read().split()[0])
    return total / 1e6


def written_bytes(pids: Iterable[int]) -> int:
    """Return what processes have had written to disks so far, in pages."""
    return sum(psutil.Process(pid).io_counters().write_bytes for pid in pids)


@contextmanager
def syscalls(pids: Iterable[int]) -> Iterator[Callable[[], int | None]]:
    """Count the system calls of processes, by ``perf`` if it is there.

    :returns: (as a context) what returns their number afterwards, or None
    """
    found: list[int | None] = [None]
    with tempfile.NamedTemporaryFile('r') as output:
        try:
            perf = subprocess.Popen(
                ['perf', 'stat', '-x,', '-e', 'raw_syscalls:sys_enter', '-o',
                 output.name, '-p', ','.join(map(str, pids))],
                stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            yield lambda: None
            return
        # It has attached once it sleeps, waiting for a signal.
        time.sleep(1)
        try:
            yield lambda: found[0]
        finally:
            perf.send_signal(signal.SIGINT)
            perf.wait()
            counts = [line.split(',')[0] for line in output
                      if 'sys_enter' in line]
            found[0] = int(counts[0]) if counts and counts[0].isdecimal() \
                else None


def cpu_of(cluster: Any, before: Mapping[str, float] = {}
           ) -> dict[str, float]:
    """Return the CPU seconds that each daemon of a cluster has used.

    :param before: what this returned then; only what came since then counts
    """
    used: dict[str, float] = defaultdict(float)
    for each in cluster.daemons.all():
        used[cluster.daemons.name(each)] += cpu_seconds([each.pid])
    return {name: seconds - before.get(name, 0)
            for name, seconds in used.items()}


def rss_mib(pids: Iterable[int]) -> float:
    """Return the memory that processes hold, MiB."""
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / MIB


def memory_mib(field: str, pid: int | str = 'self') -> float:
    """Return what /proc says of the memory of a process, MiB.

    :param field: such as ``VmHWM``, the most since ``forget_peak``
    """
    with open('/proc/%s/status' % pid) as status:
        return next(int(line.split()[1]) / 1024 for line in status
                    if line.startswith(field + ':'))


def forget_peak() -> None:
    """Let VmHWM of this process begin anew."""
    # getrusage would also count what the parent held when it forked.
    with open('/proc/self/clear_refs', 'w') as clear_refs:
        clear_refs.write('5')


@dataclass(frozen=True)
class BlockStats:
    """The counters of a block device (Linux, Documentation/block/stat.rst).

    :param reads: I/Os, like ``writes``
    :param sectors_read: of 512 bytes, like ``sectors_written``
    :param flushes: of its write cache
    """

    reads: int
    sectors_read: int
    writes: int
    sectors_written: int
    flushes: int

    @classmethod
    def parse(cls, text: str) -> 'BlockStats':
        """Parse /sys/block/<device>/stat."""
        fields = [int(each) for each in text.split()]
        if len(fields) < 16:
            raise ToolError('the kernel does not count flushes: %d fields '
                            'in the stat of a device; Linux 5.5 has 17'
                            % len(fields))
        return cls(fields[0], fields[2], fields[4], fields[6], fields[15])

    def __sub__(self, earlier: 'BlockStats') -> 'BlockStats':
        return BlockStats(*(now - then for now, then in zip(
            astuple(self), astuple(earlier))))


class Device:
    """The loop device of a mounted image.

    :param path: where it is mounted
    """

    def __init__(self, path: str) -> None:
        self.path = path
        number = os.stat(path).st_dev
        #: MAJOR:MINOR
        self.number = '%d:%d' % (os.major(number), os.minor(number))
        self._sys = os.path.realpath('/sys/dev/block/%s' % self.number)

    def be_a_disk(self) -> bool:
        """
        Have the image read as a disk would be: with a disk's read-ahead and,
        where the filesystem that holds it can do that, past the page cache.

        :returns: whether the page cache is left out
        """
        with open(os.path.join(self._sys, 'queue/read_ahead_kb'),
                  'w') as text:
            text.write('%d' % READ_AHEAD)
        return not commands.run([
            'losetup', '--direct-io=on',
            os.path.join('/dev', os.path.basename(self._sys))],
            check=False).returncode

    def stats(self) -> BlockStats:
        with open(os.path.join(self._sys, 'stat')) as text:
            return BlockStats.parse(text.read())

    def write_back(self) -> None:
        """Have the filesystem write all that it has put off."""
        commands.run(['fsfreeze', '--freeze', self.path])
        commands.run(['fsfreeze', '--unfreeze', self.path])

    def used_bytes(self) -> int:
        """Return the bytes that the filesystem has allocated."""
        stat = os.statvfs(self.path)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def drop_caches() -> None:
    """Make the kernel forget what it has read: pages, entries, inodes."""
    os.sync()
    with open('/proc/sys/vm/drop_caches', 'w') as drop:
        drop.write('3')
