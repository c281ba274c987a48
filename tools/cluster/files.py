# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a cluster: confs, rings, its spec, and its ``bin``.

``bin`` has every swift command, told where this cluster lives. Swift's
commands look in /etc/swift and /var/run/swift. A launcher has the name of the
command (swift-init finds daemons on PATH by name, and tells processes by
their command line), sets the directories by Swift's own variables (that of
swift.conf is the swift_dir of the node's conf that it is given), enters the
network namespace of that node (if the cluster has namespaces) and runs the
installed command.
"""

import glob
import os
import shutil
import sys
import sysconfig

from swift.common.ring import RingBuilder

from swift_lightsync.common.files import replace_file
from tools import ToolError
from tools.cluster.conf import ConfRenderer
from tools.cluster.layout import Layout, device_name
from tools.cluster.network import Network
from tools.cluster.spec import ClusterSpec

LAUNCHER = '''\
#!{python}
import ctypes
import os
import re
import runpy
import sys

from swift.common import utils

utils.set_swift_dir({etc!r})
name = {name!r}
if name in ('swift-init', 'swift-orphans', 'swift-oldies', 'swift-reload'):
    from swift.common import manager
    manager.SWIFT_DIR = {etc!r}
    manager.RUN_DIR = {run!r}
    # bound when the class was made, and used by ``swift-init reload``
    manager.Manager.__init__.__defaults__ = ({run!r},)
node = re.fullmatch({conf_pattern!r}, sys.argv[1]) if sys.argv[1:] else None
if node:
    with open(sys.argv[1]) as conf:
        utils.set_swift_dir(re.search('^swift_dir = (.*)', conf.read(),
                                      re.MULTILINE)[1])
if {namespaces!r} and node:
    with open({namespaces!r} % node.group(1)) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
            sys.exit('setns %s: %s' % (
                namespace.name, os.strerror(ctypes.get_errno())))
runpy.run_path(os.path.join({scripts!r}, name), run_name='__main__')
'''
#: the object server of the replication network, under a name of its own
ALIASES = {'swift-replication-server': 'swift-object-server'}
#: the same spec gives the same rings
SEED = 'saio'
#: what a cluster that has data cannot change
CAST = ('nodes', 'devices', 'policies', 'disks', 'disk_size')
DB_PART_POWER = 8
MAX_DB_REPLICAS = 3


def write(spec: ClusterSpec, layout: Layout, network: Network,
          mount_check: bool) -> None:
    """Write all of them anew; they follow from the spec alone.

    :param mount_check: whether devices are mounts
    """
    for path in (layout.run, layout.logs, layout.bin, *(
            each(node) for node in spec.node_numbers()
            for each in (layout.cache_dir, layout.node_dir))):
        os.makedirs(path, exist_ok=True)
    shutil.rmtree(layout.etc, ignore_errors=True)
    renderer = ConfRenderer(spec, layout, network, mount_check)
    for path, text in renderer.render().items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as conf:
            conf.write(text)
    build_rings(spec, layout, network)
    write_launchers(layout, network.namespaces)
    write_spec(spec, layout)


def write_spec(spec: ClusterSpec, layout: Layout) -> None:
    """Write down what a Cluster is opened by."""
    os.makedirs(spec.root, exist_ok=True)
    replace_file(layout.spec, spec.to_json().encode())


def read_spec(root: str) -> ClusterSpec:
    """Return the spec of the cluster in a directory.

    :raises ToolError: if there is none
    """
    try:
        with open(Layout(os.path.realpath(root)).spec) as spec:
            return ClusterSpec.from_json(spec.read())
    except FileNotFoundError as err:
        raise ToolError('no cluster in %s; make one with `up`'
                        % os.path.realpath(root)) from err


def check_data(spec: ClusterSpec, layout: Layout) -> None:
    """Check that the data there is not of another kind of cluster."""
    if not os.path.exists(layout.spec) or not os.path.exists(layout.srv):
        return
    before = read_spec(spec.root)
    changed = ['%s=%r, not %r' % (name, getattr(before, name),
                                  getattr(spec, name))
               for name in CAST if name in before.differences(spec)]
    if changed:
        raise ToolError('%s was made with %s; `reset` wipes its data and '
                        'makes it anew' % (spec.root, ', '.join(changed)))


def write_launchers(layout: Layout, namespaces: str) -> None:
    """Fill the cluster's ``bin``.

    :param namespaces: path of node %s's network namespace, if it has one
    """
    scripts = sysconfig.get_path('scripts')
    names = [os.path.basename(path)
             for path in glob.glob(os.path.join(scripts, 'swift-*'))]
    for name in names + list(ALIASES):
        path = layout.launcher(name)
        with open(path, 'w') as launcher:
            launcher.write(LAUNCHER.format(
                python=sys.executable, etc=layout.etc, run=layout.run,
                scripts=scripts, namespaces=namespaces,
                name=ALIASES.get(name, name),
                conf_pattern=r'%s/[a-z]+-server/(\d+)\.conf' % layout.etc))
        os.chmod(path, 0o755)  # nosec: B103


def build_rings(spec: ClusterSpec, layout: Layout, network: Network) -> None:
    """Write the builder and ring files of every service of the spec.

    Accounts and containers are on the first device of every node.
    """
    os.makedirs(layout.etc, exist_ok=True)
    rings = [(policy.ring_name, policy.part_power, policy.replicas,
              policy.devices or spec.devices, 'object-server',
              'replication-server')
             for policy in spec.policies if 'object' in spec.services]
    rings += [(kind, DB_PART_POWER, min(MAX_DB_REPLICAS, spec.nodes), 1,
               kind + '-server', kind + '-server')
              for kind in ('container', 'account') if kind in spec.services]
    for name, part_power, replicas, devices, server, replication in rings:
        builder = RingBuilder(part_power, replicas, 0)
        for node in spec.node_numbers():
            for k in range(1, devices + 1):
                builder.add_dev({
                    'region': (node - 1) % spec.regions + 1, 'zone': node,
                    'ip': network.node_ip(node),
                    'port': spec.port(server, node),
                    'replication_ip': network.node_ip(node),
                    'replication_port': spec.port(replication, node),
                    'device': device_name(node, k), 'weight': 100.0,
                    'meta': ''})
        builder.rebalance(seed=SEED)
        builder.validate()
        builder.save(layout.builder(name))
        builder.get_ring().save(layout.ring(name))
