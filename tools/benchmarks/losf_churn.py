# SPDX-License-Identifier: Apache-2.0
"""Years of overwrites and deletes in minutes, and space: ``bench losf``."""

import os
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Optional

import psutil

from swift_losf.format.layout import Layout
from swift_losf.fsck.stats import summary, volume_uses
from tools.benchmarks.workload import Stage

#: op -> the sizes of what is written
CHURN = {'churn-2k': 'u(100,2048)B', 'churn-64k': 'u(100,65536)B',
         'churn-mixed': 'h(100|2048|80,2049|65536|19,65537|4194304|1)B'}
#: how often each object is overwritten; then half of them are deleted
TURNS = 3
BLOCK = 4096
#: seconds for which compaction is waited for
PATIENCE = 120


def stages(op: str, objects: int, workers: int) -> list[Stage]:
    """Return what clients do to objects of their own.

    :param op: one of CHURN
    :param objects: how many there are
    :param workers: requests at the same time
    """
    def write(name: str) -> Stage:
        return Stage(name, 'write', (1, objects), CHURN[op], workers, objects)
    turns = [write('turn %d' % turn) for turn in range(1, TURNS)]
    half = objects // 2
    return [write('fill'), *turns, write(op), Stage(
        'delete', 'delete', (1, half), workers=workers, total=half)]


def operations(result: Any) -> int:
    """Return how many operations have succeeded, whose CPU was measured."""
    return sum(work.metrics(each).op_count for stage in result.stages
               for work in stage.works for each in work.operations)


@contextmanager
def filled(directory: str, percent: Optional[int]) -> Iterator[None]:
    """Take space for a while, so that so much of a filesystem is in use.

    :param directory: on it
    :param percent: of its bytes; None: as much as is
    """
    if percent is None:
        yield
        return
    disk = os.statvfs(directory)
    missing = disk.f_frsize * (
        disk.f_blocks * percent // 100 - disk.f_blocks + disk.f_bfree)
    path = os.path.join(directory, 'filler')
    with open(path, 'wb') as file:
        if missing > 0:
            os.posix_fallocate(file.fileno(), 0, missing)
    try:
        yield
    finally:
        os.unlink(path)


def files_bytes(directory: str) -> int:
    """Return what the files of a directory take of their disk."""
    with os.scandir(directory) as entries:
        return sum(each.stat().st_blocks * 512 for each in entries)


def data_bytes(directory: str) -> int:
    """Return the bytes of the blocks of stock Swift's data files."""
    return BLOCK * sum(
        -(-os.path.getsize(os.path.join(path, each)) // BLOCK)
        for path, _, files in os.walk(directory)
        for each in files if each.endswith('.data'))


def descriptors(pids: Iterable[int]) -> int:
    """Return how many files processes have open."""
    return sum(psutil.Process(each).num_fds() for each in pids)


def space(layout: Layout) -> dict[str, Any]:
    """Return what volumes take for what lives in them.

    :param layout: of a device and policy whose index server runs
    """
    found = summary(volume_uses(layout))
    return {name: found[name] for name in (
        'allocated_per_live', 'extents_per_volume')}


def is_compact(found: Any) -> bool:
    """Return whether nothing calls for compaction any more.

    :param found: Statistics of an index server
    """
    return (not found.dead_bytes
            and found.garbage_bytes <= 0.23 * found.allocated_bytes)
