# SPDX-License-Identifier: Apache-2.0
"""
Several clusters on one machine that keep versions of the same objects: sites.

Each is a ``Cluster`` of its own, below the directory of all; they reach each
other through the relays of tools.cluster.relay, which can be slow or cut.
"""

import os
import secrets
import shutil
import sys
from dataclasses import replace
from itertools import count
from typing import Any

from tools import REPO, ToolError
from tools.cluster import files, ports, processes, relay
from tools.cluster.cluster import Cluster
from tools.cluster.ports import free_base_port
from tools.cluster.spec import ClusterSpec, Policy

NAMES = ('rome', 'paris', 'oslo', 'lima', 'kyoto', 'cairo')
RELAY = 'tools.cluster.relay'
STATE = 'links.json'
#: Three nodes are three replicas of each container.
DEFAULTS = {'nodes': 3, 'replication_ports': False}
#: of sites at which all systems are at work: LightSync, LOSF with and without
#: PROAR, and versions
ALL = 'small:3:kv:proar,fragments:2+1:kv'


def names(count: int) -> tuple[str, ...]:
    """Return the names of so many sites, in the order of preference.

    :raises ToolError: if they cannot be that many
    """
    if not 2 <= count <= len(NAMES):
        raise ToolError('sites is %r; allowed: 2 to %d' % (
            count, len(NAMES)))
    return NAMES[:count]


class Sites:
    """Sites that are made, or opened if they are there.

    :param root: the directory of all
    :param count: how many sites
    :param modes: of the versioning filters, of the sites in turn
    :param options: of the propagators, a dict
    :param filters: more options of the versioning filters, a dict
    :param fields: of each ``ClusterSpec``
    """

    def __init__(self, root: str, count: int,
                 modes: tuple[str, ...] = ('write-repair',),
                 options: dict[str, Any] | None = None,
                 filters: dict[str, Any] | None = None,
                 **fields: Any) -> None:
        self.root = os.path.realpath(root)
        self.names = names(count)
        self.state = os.path.join(self.root, STATE)
        os.makedirs(self.root, exist_ok=True)
        if os.path.exists(self.state):
            self.clusters = {name: Cluster.open(os.path.join(self.root, name))
                             for name in self.names}
        else:
            self.clusters = self._make(modes, options or {},
                                       filters or {}, fields)

    @classmethod
    def open(cls, root: str) -> 'Sites':
        """Open the sites in a directory, which must be there."""
        state = os.path.join(root, STATE)
        if not os.path.exists(state):
            raise ToolError('there are no sites in %s; `--sites N up` '
                            'makes them' % root)
        return cls(root, len({link.source for link in relay.read(state)}))

    def _make(self, modes: tuple[str, ...], options: dict, filters: dict,
              fields: dict) -> dict[str, Cluster]:
        pairs = [(source, target) for source in self.names
                 for target in self.names if source != target]
        # of relays; what is found is kept from being found again
        entrances = dict(zip(pairs, count(free_base_port(
            len(pairs) // 10))))
        keys = {frozenset(pair): secrets.token_hex(32) for pair in pairs}
        fields = {**DEFAULTS, **fields}
        fields.setdefault('policies', (Policy(
            'gold', 0, min(3, fields['nodes']), part_power=5),))
        bases = [free_base_port(fields['nodes']) for _ in self.names]
        clusters = {}
        for number, name in enumerate(self.names):
            peers = {other: {
                'endpoints': 'http://127.0.0.1:%d' % entrances[name, other],
                'key': keys[frozenset((name, other))]}
                for other in self.names if other != name}
            clusters[name] = Cluster(ClusterSpec(
                root=os.path.join(self.root, name), base_port=bases[number],
                versioning={'site': name, 'mode': modes[number % len(modes)],
                            'site_preference': ','.join(self.names),
                            **filters},
                peers=peers, options={'container-server': {
                    'container-propagator': options}}, **fields))
        for cluster in clusters.values():
            files.write_spec(cluster.spec, cluster.layout)
        # Last: where it is, the sites are.
        relay.write(self.state, [
            relay.Link(*pair, entrances[pair], ('127.0.0.1', clusters[
                pair[1]].spec.port('proxy-server'))) for pair in pairs])
        return clusters

    def __enter__(self) -> 'Sites':
        self.up()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.down()

    def up(self, replicators: bool = False) -> None:
        """Start those sites that are down, and the network between all.

        :param replicators: start the object replicators as well
        """
        self._end_relay()
        links = [link for link in relay.read(self.state) if not link.cut]
        try:
            processes.start(
                [sys.executable, '-m', RELAY, self.state],
                os.path.join(self.root, 'relay.log'),
                'the relay listens on its ports',
                lambda pid: all(ports.owner('127.0.0.1', link.port)
                                .startswith('pid %d ' % pid)
                                for link in links), cwd=REPO)
            for cluster in self.clusters.values():
                if not cluster.is_up():
                    cluster.up(replicators)
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """End all; the data stays."""
        for cluster in self.clusters.values():
            if cluster.is_up():
                cluster.down()
        self._end_relay()

    def _end_relay(self) -> None:
        processes.end(lambda: [
            each for each in processes.all_processes()
            if RELAY in each.argv and self.state in each.argv])

    def destroy(self) -> None:
        """End all, and delete what was written."""
        self.down()
        for cluster in self.clusters.values():
            if os.path.exists(cluster.layout.spec):
                cluster.destroy()
        shutil.rmtree(self.root, ignore_errors=True)

    def _change(self, one: str, other: str, **values: Any) -> None:
        for pair in ((one, other), (other, one)):
            if not relay.change(self.state, *pair, **values):
                raise ToolError('no way from site %r to %r; there are %s'
                                % (*pair, ', '.join(self.names)))

    def delay(self, one: str, other: str, seconds: float) -> None:
        """Let all between two sites take so long, each way."""
        if not 0 <= seconds <= 60:
            raise ToolError('delay is %r; allowed: 0 to 60 seconds' % (
                seconds,))
        self._change(one, other, delay=seconds)

    def cut(self, one: str, other: str) -> None:
        """Let nothing pass between two sites."""
        self._change(one, other, cut=True)

    def join(self, one: str, other: str) -> None:
        """End what ``cut`` did."""
        self._change(one, other, cut=False)

    def isolate(self, name: str) -> None:
        """Cut a site off all others."""
        for other in self.names:
            if other != name:
                self.cut(name, other)

    def heal(self) -> None:
        """End all cuts."""
        relay.write(self.state, [replace(link, cut=False)
                                 for link in relay.read(self.state)])
