# SPDX-License-Identifier: Apache-2.0
"""
``bench samples``: the workloads of etc/cosbench, on ours and on stock Swift.

Each document is for one system, where it shines or where it does not; the
same document, on the policy and the cluster of either, is what is compared.
Times and numbers in it are made smaller, so that all of them end in minutes.
"""

import os
import re
import xml.etree.ElementTree as ET
from contextlib import ExitStack
from typing import Any, NamedTuple

from cosbench.document.reader import portable
from tools import REPO
from tools.arguments import GIB, names, number
from tools.benchmarks import workload
from tools.benchmarks.bench import Bench
from tools.benchmarks.site import Site
from tools.cluster import ClusterSpec, Policy, free_base_port

NODES = REPLICAS = 3
STOCK, OURS = 'stock', 'ours'
#: The most containers and workers of a work.
CONTAINERS, WORKERS = 4, 16
#: An operation of a stage that ends by their number.
OPERATIONS_A_SECOND = 20
_SELECTOR = re.compile(r'(containers|objects)=(\w+)\((\d+),(\d+)')
_LARGE = re.compile(r'sizes=c\((\d+)\)MiB')


class Sample(NamedTuple):
    """A document, and where it is played.

    :param policy: of ours; stock's is gold
    :param versions: whether the clusters keep versions, ours by its filter
    :param replicates: whether their replicators go on meanwhile
    """

    policy: str = 'gold'
    versions: bool = False
    replicates: bool = False


SAMPLES = {
    'losf-small-objects': Sample('small'), 'losf-warm-reads': Sample('small'),
    'proar-writes': Sample('fast'), 'proar-busy-processors': Sample('fast'),
    'versioned': Sample(versions=True),
    'versioned-reads': Sample(versions=True),
    'sync-reads': Sample(replicates=True)}


def scaled(text: str, objects: int) -> str:
    """Make the numbers of containers and objects in a config smaller."""
    def smaller(match: Any) -> str:
        key, form, first, last = match[1], match[2], *map(
            int, match.group(3, 4))
        if key == 'containers':
            return '%s=%s(%d,%d' % (key, form, first, min(last, CONTAINERS))
        # All numbers of a document shrink alike: what it reads is there.
        return '%s=%s(%d,%d' % (key, form, (first - 1) * objects // 10000 + 1,
                                max(1, last * objects // 10000))
    return _LARGE.sub(lambda match: 'sizes=c(%d)MiB' % min(
        4, int(match[1])), _SELECTOR.sub(smaller, text))


def document(name: str, auth: str, policy: str, seconds: int,
             objects: int) -> tuple[bytes, list[str]]:
    """Return a document of etc/cosbench for a cluster, made smaller.

    :param auth: the config of its swauth
    :param policy: of its containers
    :param objects: of each 10,000 of a container
    :returns: its bytes; the names of the stages that are compared
    """
    with open(os.path.join(REPO, 'etc/cosbench', name + '.xml'),
              'rb') as file:
        root = ET.fromstring(portable(file.read()))  # nosec: B314
    for each in root.iter():
        if 'config' in each.attrib:
            each.set('config', scaled(each.get('config', ''), objects))
    for found, config in (('auth', auth), ('storage', 'policy=' + policy)):
        element = root.find(found)
        assert element is not None
        element.set('config', config)
    stages = []
    for stage in root.iter('workstage'):
        stage.set('closuredelay', '0')
        for work in stage.iter('work'):
            work.set('workers', str(min(WORKERS, int(
                work.get('workers', '1')))))
            if work.get('type', 'normal') != 'normal':
                continue
            stage.set('name', '%s %s' % (name, stage.get('name')))
            stages.append(stage.get('name', ''))
            work.set('rampup', '0')
            work.set('interval', '1')
            if 'totalOps' in work.attrib:
                work.set('totalOps', str(seconds * OPERATIONS_A_SECOND))
            else:
                work.set('runtime', str(seconds))
    return ET.tostring(root), stages


def _site(root: str, contestant: str, kind: Sample) -> Site:
    """Return a cluster for documents of a kind."""
    is_ours = contestant == OURS
    policies = [Policy('gold', 0, REPLICAS)]
    if is_ours and kind.policy != 'gold':
        policies.append(Policy(kind.policy, 1, REPLICAS,
                               kv=kind.policy == 'small',
                               proar=kind.policy == 'fast'))
    versioning = {'site': 'here', 'site_preference': 'here',
                  'mode': 'write-repair'} if kind.versions and is_ours else {}
    sync = is_ours and kind.replicates
    return Site(contestant, ClusterSpec(
        root=os.path.join(root, '-'.join((contestant, *map(str, kind)))),
        nodes=NODES, base_port=free_base_port(NODES),
        policies=tuple(policies), versioning=versioning,
        replicator='lightsync' if sync else 'stock',
        disk_size=4 * GIB, options={
            'object-server': {'object-replicator': {'interval': 1}}}))


class Samples(Bench):
    """All measurements of one invocation."""

    name = 'samples'
    options = {
        'documents': (names(SAMPLES), ','.join(SAMPLES), 'NAME,…',
                      'of etc/cosbench'),
        'seconds': (number(1), 15, None, 'of each stage'),
        'objects': (number(1, 10000), 500, None,
                    'of each 10,000 in a document')}
    references = (STOCK,)
    metrics = workload.METRICS

    def measure(self, stack: Any) -> None:
        args = self.args
        for kind in dict.fromkeys(SAMPLES[each] for each in args.documents):
            mine = [each for each in args.documents if SAMPLES[each] == kind]
            with ExitStack() as here:
                sites = self.start(
                    here, (STOCK, OURS),
                    lambda name: _site(self.root, name, kind))
                if kind.replicates:
                    for site in sites.values():
                        site.cluster.swift_init(
                            site.cluster.replicator_daemon, 'start')
                for run, sample, name in self.turns(mine, (STOCK, OURS)):
                    self._play(sites[name], kind, sample, name, run)

    def _play(self, site: Site, kind: Sample, sample: str, name: str,
              run: int) -> None:
        args = self.args
        text, stages = document(
            sample, site.auth, kind.policy if name == OURS else 'gold',
            args.seconds, args.objects)
        with self.noted('%s, %s' % (name, sample)):
            result = self.play(name, sample, run, text.replace(
                b'cprefix=', b'cprefix=run%d-' % run))
            for stage in stages:
                self.attempt(name, stage, run,
                             lambda: workload.figures(result, stage))
