# SPDX-License-Identifier: Apache-2.0
"""The work and the waiting of clients: workloads that ``cosbench run`` plays.

A workload here is one container and stages of one operation each. COSBench
measures rates and response times, and its ``compare`` gives the ratios of two
results with confidence intervals; other modules measure what it cannot see.
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cosbench.measure.result import Result
from cosbench.reports.compare import compare
from cosbench.reports.compare_views import as_page
from tools import REPO, ToolError
from tools.benchmarks.record import Metric, Spread

#: Half of the objects have 100 to 200 bytes, half 32 to 64 KiB.
SMALL_SIZES = 'h(100|200|50,32768|65536|50)B'
#: Figures of a client, each with the name that COSBench gives it.
_FIGURES = {'ops_per_second': 'throughput', 'mean_ms': 'avg_res',
            'p50_ms': 'p50', 'p95_ms': 'p95', 'p99_ms': 'p99'}
METRICS = (Metric('ops_per_second', 'operations/s', 1),
           Metric('p50_ms', 'p50, ms', 1), Metric('p99_ms', 'p99, ms', 1))


@dataclass(frozen=True)
class Stage:
    """One operation, many times.

    :param name: of the stage, by which two results are compared
    :param operation: ``read``, ``write``, ``head`` or ``delete``
    :param objects: (first, last) number of the objects, each worker's own
        part of them in turn
    :param sizes: of objects that are written, as COSBench has it
    :param workers: requests at the same time
    :param total: operations after which it ends; 0: any number
    :param seconds: after which it ends; 0: any number
    :param total_bytes: after which it ends; 0: any number
    :param rate: operations a second that are begun; 0: one after the other
    """

    name: str
    operation: str
    objects: tuple
    sizes: str = 'c(1)B'
    workers: int = 1
    total: int = 0
    seconds: int = 0
    total_bytes: int = 0
    rate: float = 0


def _config(**values: Any) -> str:
    return ';'.join('%s=%s' % each for each in values.items())


def document(site_auth: str, container: str, stages: Sequence[Stage],
             policy: str = '', versioned: bool = False) -> bytes:
    """Write a workload document.

    :param site_auth: the config of COSBench's swauth
    :param container: the prefix of its name; it is made first
    :param versioned: whether it keeps versions
    """
    root = ET.Element('workload', name=container)
    ET.SubElement(root, 'auth', type='swauth', config=site_auth)
    ET.SubElement(root, 'storage', type='swift',
                  config=_config(policy=policy) if policy else '')
    flow = ET.SubElement(root, 'workflow',
                         config=_config(cprefix=container))
    header = ';cheader.X-Versions-Enabled=true' if versioned else ''
    ET.SubElement(ET.SubElement(flow, 'workstage', name='init'), 'work',
                  type='init', workers='1',
                  config='containers=r(1,1)' + header)
    for each in stages:
        work = ET.SubElement(
            ET.SubElement(flow, 'workstage', name=each.name), 'work',
            name=each.name, workers=str(each.workers), division='object',
            interval='1', totalOps=str(each.total),
            totalBytes=str(each.total_bytes), runtime=str(each.seconds),
            config=_config(rate='%g' % each.rate) if each.rate else '')
        ET.SubElement(work, 'operation', type=each.operation, ratio='100',
                      config=_config(
                          containers='c(1)', objects='r(%d,%d)'
                          % each.objects, sizes=each.sizes))
    return ET.tostring(root, encoding='UTF-8', xml_declaration=True)


@dataclass(frozen=True)
class Client:
    """Runs workloads, each in a process of its own.

    :param directory: for the archive of the runs, which stays
    :param seed: of all random choices
    """

    directory: str
    seed: int

    def run(self, text: bytes, name: str,
            before: Sequence[str] = ()) -> Result:
        """Run a workload.

        :param text: the document
        :param name: of the files that are written
        :param before: a command that takes this one as its last arguments
        :raises ToolError: if it did not come to its end
        """
        base = os.path.join(self.directory, name)
        with open(base + '.xml', 'wb') as xml:
            xml.write(text)
        done = subprocess.run([
            *before, sys.executable, '-m', 'cosbench', 'run', base + '.xml',
            '--json', base + '.json', '--archive',
            os.path.join(self.directory, 'archive'), '--drivers', '1',
            '--seed', str(self.seed), '--quiet'], cwd=REPO,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors='backslashreplace')
        if done.returncode:
            raise ToolError('cosbench run %s.xml: exit status %d: %s' % (
                base, done.returncode, done.stderr.strip()))
        with open(base + '.json') as found:
            return Result.from_json(json.load(found))


def figures(result: Result, stage: str) -> dict[str, Any]:
    """Return the figures of a stage.

    :raises ToolError: if no operation succeeded
    """
    for each in result.stages:
        if each.name == stage:
            work, = each.works
            found = work.metrics(work.operations[0])
            if not found.op_count:
                raise ToolError('%s: %d operations, none succeeded' % (
                    stage, found.failures))
            return {'operations': found.op_count, 'failed': found.failures,
                    **{name: getattr(found, theirs)
                       for name, theirs in _FIGURES.items()}}
    raise ToolError('the result has no stage %s' % stage)


def intervals(first: Result, second: Result,
              path: str) -> dict[tuple[str, str], Spread]:
    """Compare two results, and write the comparison down.

    :param first: the result that ratios are to
    :param path: of the page that is written
    :returns: (stage, figure) -> the ratio with its confidence interval
    """
    comparison = compare([first], [second])
    with open(path, 'w') as page:
        page.write(as_page(comparison))
    found = {}
    ours = {theirs.replace('avg_res', 'mean'): figure
            for figure, theirs in _FIGURES.items()}
    for row in comparison.rows:
        if row.figure in ours and row.ratio is not None \
                and row.ratio_low is not None and row.ratio_high is not None:
            found[row.operation.split('/')[0], ours[row.figure]] = Spread(
                row.ratio, row.ratio_low, row.ratio_high)
    return found
