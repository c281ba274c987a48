# SPDX-License-Identifier: Apache-2.0
"""
The stage: a directory that is the demonstration's own, and its clusters.

``lightsync`` is the cluster of the first act. ``stock`` gets a copy of its
object data: the same rings but for the ports, so the same placement, and
Swift's own object-server and replicator. ``volumes`` is that of the second
act; what is in volumes needs ssync. ``roles`` is that of the third. ``sites``
has those of the fourth, while it is played.
"""

import fcntl
import os
from contextlib import suppress

from tools.benchmarks.request_log import REPLICATION as OPTIONS
from tools.cluster import Cluster, ClusterSpec, Policy, commands
from tools.cluster.disks import DIRECTORY_NOTE
from tools.cluster.sites import STATE, Sites
from tools.demonstration.errors import DemoError

MARKER = '.lightsync-demo'
MARKER_TEXT = 'This directory belongs to tools/demo, which empties it.\n'
#: from the base port of one cluster to that of the next
PORTS = 100
FILES = Policy('files', 0, 3, part_power=5)
VOLUMES = Policy('volumes', 1, 3, part_power=5, kv=True)
STOCK = Policy('stock', 0, 3, part_power=5)
PROAR = Policy('proar', 1, 3, part_power=5, proar=True)
#: seconds that a server has to answer the proxy; Swift has 10 by default
NODE_TIMEOUT = 2
#: A node that is back is written to at once, so that each kill strikes one
#: that is at work; else the proxy would spare it for a minute.
FORGETFUL = {'error_suppression_interval': 0.5}
#: of the sites in turn
MODES = ('write-repair', 'read-repair')
#: Propagators that look often, and soon try again: seconds.
EAGER = {'interval': 0.1, 'scan_interval': 0.5, 'repair_delay': 0.5,
         'handover_delay': 1, 'retry_delay': 0.2, 'max_retry_delay': 1}


def _options(of_proxy):
    return {**OPTIONS, 'proxy-server': {'app:proxy-server': of_proxy}}


class Stage:
    """
    The directory and its clusters.

    :param directory: made if it is not there; if it is, it must be empty or
        an earlier stage
    :param base_port: the ports are from here to 400 above
    :param sync_method: how all clusters push but that of volumes, 'rsync' or
        'ssync'
    :raises DemoError: if the directory is used by anything else
    :raises ClusterError: for a value that a cluster cannot have
    """

    def __init__(self, directory, base_port, sync_method):
        self.directory = os.path.realpath(directory)
        self.lightsync = Cluster(ClusterSpec(
            root=os.path.join(self.directory, 'lightsync'),
            base_port=base_port, sync_method=sync_method, options=OPTIONS))
        self.stock = Cluster(ClusterSpec(
            root=os.path.join(self.directory, 'stock'),
            base_port=base_port + PORTS, sync_method=sync_method,
            replicator='stock', services=('object',), options=OPTIONS))
        self.volumes = Cluster(ClusterSpec(
            root=os.path.join(self.directory, 'volumes'), nodes=3,
            base_port=base_port + 2 * PORTS, policies=(FILES, VOLUMES),
            options=_options(FORGETFUL)))
        self.roles = Cluster(ClusterSpec(
            root=os.path.join(self.directory, 'roles'), nodes=3,
            base_port=base_port + 3 * PORTS, sync_method=sync_method,
            policies=(STOCK, PROAR),
            options=_options({**FORGETFUL, 'node_timeout': NODE_TIMEOUT})))
        self.sites_root = os.path.join(self.directory, 'sites')
        self.lock = self._take()

    @property
    def note(self):
        """What to know about the devices, if anything."""
        return '' if self.lightsync.disks.images else DIRECTORY_NOTE

    def _take(self):
        marker = os.path.join(self.directory, MARKER)
        try:
            os.makedirs(self.directory, exist_ok=True)
            names = os.listdir(self.directory)
            if names and MARKER not in names:
                raise DemoError(
                    '%s is neither empty nor of an earlier demonstration '
                    '(it has no %s); choose another --dir' % (
                        self.directory, MARKER))
            lock = open(marker, 'a')
        except OSError as err:
            raise DemoError('%s: %s; choose another --dir' % (
                self.directory, err.strerror)) from err
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            raise DemoError('another demonstration is at work in %s; wait '
                            'for it or choose another --dir'
                            % self.directory) from err
        if not names:
            lock.write(MARKER_TEXT)
            lock.flush()
        return lock

    def _check_xattrs(self):
        if self.lightsync.disks.images:
            return
        marker = os.path.join(self.directory, MARKER)
        try:
            os.setxattr(marker, 'user.swift.metadata', b'x')
        except OSError as err:
            raise DemoError(
                'the filesystem of %s has no extended attributes (%s); '
                'choose a --dir on XFS, ext4 or a newer tmpfs' % (
                    self.directory, err.strerror)) from err

    def clusters(self):
        """:returns: those of its Clusters that are there"""
        return [cluster for cluster in (self.lightsync, self.stock,
                                        self.volumes, self.roles)
                if os.path.isdir(cluster.spec.root)]

    def set(self):
        """
        End and delete the clusters of an earlier demonstration.

        :returns: whether there was any
        :raises DemoError: if Swift cannot have its files here
        """
        self._check_xattrs()
        there = self.clusters()
        for cluster in there:
            cluster.destroy()
        if os.path.isdir(self.sites_root):
            there.append(self.make_sites())
            there[-1].destroy()
        return bool(there)

    def make_sites(self):
        """
        :returns: three Sites, not up yet. Those of an earlier demonstration
            have to be destroyed by this before, and can be, whatever there
            is of them: they are the same but for their ports and keys
        """
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.sites_root, STATE))
        return Sites(self.sites_root, 3, MODES, EAGER, nodes=1)

    def copy_objects(self):
        """Copy each device's objects to the stock cluster's device."""
        for node in self.lightsync.spec.node_numbers():
            for device in self.lightsync.devices(node):
                source = self.lightsync.device_path(node, device)
                names = [name for name in os.listdir(source)
                         if name.split('-')[0] == 'objects']
                commands.run([
                    'cp', '-R', '--no-dereference',
                    '--preserve=mode,ownership,timestamps,xattr',
                    *(os.path.join(source, name) for name in names),
                    self.stock.device_path(node, device)])

    def end(self):
        """End the clusters; their data stays."""
        for cluster in self.clusters():
            cluster.down()
