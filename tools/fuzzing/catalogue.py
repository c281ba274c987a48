# SPDX-License-Identifier: Apache-2.0
"""All targets, by name."""

from tools.fuzzing import (
    documents,
    drivers,
    messages,
    responses,
    results,
    rows,
    sites,
    workloads,
)

TARGETS = {target.name: target for group in (
    messages, documents, sites, rows, workloads, responses, results, drivers)
    for target in group.TARGETS}
