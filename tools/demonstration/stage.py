# SPDX-License-Identifier: Apache-2.0
"""The stage: a directory that is the demonstration's own, and its clusters.

``stock`` gets a copy of the objects of ``lightsync``: the same rings but for
the ports, so the same placement, and Swift's own object-server and replicator.
"""

import os
from dataclasses import replace
from glob import glob
from typing import Any

from swift_lightsync.common.files import open_locked
from tools import ToolError
from tools.cluster import Cluster, ClusterSpec, Policy, commands
from tools.cluster.disks import DIRECTORY_NOTE
from tools.cluster.sites import Sites
from tools.demonstration.passes import OPTIONS
from tools.demonstration.removal import MARKER, remove

#: of the first act; a quick one has fewer partitions to replicate
PART_POWER, QUICK_PART_POWER = 8, 6
#: from the base port of one cluster to that of the next
PORTS = 100
#: seconds that a server has to answer the proxy; Swift has 10 by default
NODE_TIMEOUT = 2
#: A node that is back is written to at once, so that each kill strikes one
#: that is at work; else the proxy would spare it for a minute.
PROXY: dict[str, Any] = {'error_suppression_interval': 0.5}
#: name -> fields of its ClusterSpec
CLUSTERS: dict[str, dict[str, Any]] = {
    'lightsync': {'options': OPTIONS},
    'stock': {'options': OPTIONS, 'replicator': 'stock',
              'services': ('object',)},
    'volumes': {
        'nodes': 3, 'options': {**OPTIONS, 'proxy-server': {
            'app:proxy-server': PROXY}},
        'policies': (Policy('files', 0, 3, part_power=5),
                     Policy('volumes', 1, 3, part_power=5, kv=True))},
    'roles': {
        'nodes': 3, 'options': {**OPTIONS, 'proxy-server': {
            'app:proxy-server': {**PROXY, 'node_timeout': NODE_TIMEOUT}}},
        'policies': (Policy('stock', 0, 3, part_power=5),
                     Policy('proar', 1, 3, part_power=5, proar=True))}}
#: of the sites in turn
MODES = ('write-repair', 'read-repair')
#: Propagators that look often, and soon try again: seconds.
EAGER = {'interval': 0.1, 'scan_interval': 0.5, 'repair_delay': 0.5,
         'handover_delay': 1, 'retry_delay': 0.2, 'max_retry_delay': 1}


class Stage:
    """
    The directory and its clusters; an earlier demonstration there is removed.

    :param directory: made if it is not there; if it is, it must be empty or
        an earlier stage
    :param base_port: the ports are from here to 400 above
    :param part_power: of the rings of lightsync and stock
    :raises ToolError: if the directory cannot be the stage's
    :raises ToolError: for a value that a cluster cannot have
    """

    def __init__(self, directory: str, base_port: int,
                 part_power: int = PART_POWER) -> None:
        self.policies = tuple(replace(policy, part_power=part_power)
                              for policy in ClusterSpec.policies)
        self.directory = os.path.realpath(directory)
        self.clusters = {name: Cluster(ClusterSpec(
            root=os.path.join(self.directory, name),
            base_port=base_port + number * PORTS,
            **{'policies': self.policies, **fields}))
            for number, (name, fields) in enumerate(CLUSTERS.items())}
        marker = os.path.join(self.directory, MARKER)
        try:
            os.makedirs(self.directory, exist_ok=True)
            names = os.listdir(self.directory)
            if names and MARKER not in names:
                raise ToolError(
                    '%s is neither empty nor of an earlier demonstration (it '
                    'has no %s); choose another --dir' % (
                        self.directory, MARKER))
            if names:
                if open_locked(marker) is None:
                    raise ToolError('another demonstration is at work in %s; '
                                    'wait for it or choose another --dir'
                                    % self.directory)
                remove(self.directory)
                os.makedirs(self.directory, exist_ok=True)
            self.lock = open_locked(marker)
            if self.lock is None:
                raise ToolError('another demonstration has just begun in %s; '
                                'choose another --dir' % self.directory)
            os.setxattr(marker, 'user.swift.metadata', b'x')
        except OSError as err:
            raise ToolError(
                '%s: %s; choose a --dir on XFS, ext4 or a newer tmpfs' % (
                    self.directory, err.strerror or err)) from err

    @property
    def note(self) -> str:
        """What to know about the devices, if anything."""
        return ('' if self.clusters['lightsync'].disks.images
                else DIRECTORY_NOTE)

    def make_sites(self) -> Sites:
        """Return three Sites, which are not up yet."""
        return Sites(os.path.join(self.directory, 'sites'), 3, MODES, EAGER,
                     nodes=1)

    def copy_objects(self) -> None:
        """Copy each device's objects to the stock cluster's device."""
        source, stock = self.clusters['lightsync'], self.clusters['stock']
        for top, copy in zip(source.device_paths().values(),
                             stock.device_paths().values()):
            commands.run(['cp', '-R', '--no-dereference',
                          '--preserve=mode,ownership,timestamps,xattr',
                          *glob(os.path.join(top, 'objects*')), copy])
