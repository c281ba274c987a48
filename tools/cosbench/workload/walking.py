# SPDX-License-Identifier: Apache-2.0
"""What the workers of special works go through, each thing once."""

from collections.abc import Sequence

from cosbench.workload.division import Share
from cosbench.workload.selectors import Selector


def walk(selector: Selector, share: Share) -> tuple[range, ...]:
    """
    Return what a worker goes through that visits each thing once.

    :param selector: of what there is
    :param share: the worker's share
    :returns: the worker's part, as disjoint ranges, ascending
    """
    done, parts = 0, []
    spans = disjoint(selector.spans())
    mine = share.of(range(sum(len(span) for span in spans)))
    for span in spans:
        place, done = done, done + len(span)
        found = span[max(0, mine.start - place):max(0, mine.stop - place)]
        if found:
            parts.append(found)
    return tuple(parts)


def disjoint(spans: Sequence[range]) -> tuple[range, ...]:
    """Return the same integers, each in one range only, ascending."""
    merged: list[range] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start,
                               max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return tuple(merged)
