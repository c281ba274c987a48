# SPDX-License-Identifier: Apache-2.0
"""Years of overwrites and deletes in minutes, for ``bench losf``."""

from typing import Any

from swift_losf.format.layout import Layout
from swift_losf.fsck.stats import summary, volume_uses
from tools.benchmarks.workload import Stage

#: op -> the sizes of what is written
CHURN = {'churn-2k': 'u(100,2048)B', 'churn-64k': 'u(100,65536)B'}
#: how often each object is overwritten; then half of them are deleted
TURNS = 3
#: seconds for which compaction is waited for
PATIENCE = 120


def stages(op: str, objects: int, workers: int) -> list[Stage]:
    """
    Return what clients do to objects of their own.

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


def space(layout: Layout) -> dict[str, Any]:
    """
    Return what volumes take for what lives in them.

    :param layout: of a device and policy whose index server runs
    """
    found = summary(volume_uses(layout))
    return {name: found[name] for name in (
        'allocated_per_live', 'extents_per_volume')}


def is_compact(found: Any) -> bool:
    """
    Return whether nothing calls for compaction any more.

    :param found: Statistics of an index server
    """
    return (not found.dead_bytes
            and found.garbage_bytes <= 0.23 * found.allocated_bytes)
