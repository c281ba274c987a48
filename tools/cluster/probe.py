# SPDX-License-Identifier: Apache-2.0
"""The layout that Swift's probe tests expect, in a world of its own.

``tools/saio --probe run CMD...`` runs CMD where /etc/swift and /var/run/swift
are those of a cluster of four nodes, ``resetswift`` is on PATH, the proxy has
port 8080 and memcached 11211: in new mount, network and process namespaces.
When CMD ends, so does everything in them; only the logs stay, in --dir.

CMD starts and ends Swift's servers itself. Of index servers, which a kv policy
needs, the tests know nothing: ``resetswift`` leaves new ones running.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tools import ToolError
from tools.cluster import commands
from tools.cluster.cluster import Cluster
from tools.cluster.spec import ClusterSpec, Policy

MEMCACHED_PORT = 11211
PROXY_PORT = 8080
DISK_SIZE = 4 * 2 ** 30
#: the ports of the nodes follow: 6210, 6211, 6212, 6220, ...
BASE_PORT = 6200
PART_POWER = 10
#: the replicated policies, if none are given
REPLICATED = (Policy('gold', 0, 3), Policy('silver', 1, 3))
#: one worker, since the tests of signals count the processes
SERVER = {'DEFAULT': {'workers': 1}}
OPTIONS: dict[str, Any] = {
    'object-server': {**SERVER, 'object-expirer': None},
    'object-expirer': {},
    'account-server': SERVER,
    'container-server': {**SERVER, 'container-sharder': {
        'auto_shard': 'true', 'shard_container_threshold': 100,
        'shard_scanner_batch_size': 10, 'cleave_batch_size': 2}},
    'proxy-server': {
        **SERVER,
        'filter:container_sync': {'current': '//saio/saio_endpoint'}},
}
REALMS = '''\
[saio]
key = saio
cluster_saio_endpoint = http://127.0.0.1:%d/v1/
''' % PROXY_PORT
RESETSWIFT = '''\
#!/bin/sh
set -e
swift-init all kill
swift-orphans -a 0 -k KILL
exec {python} -m tools.cluster.probe reset {root}
'''


def spec(root: str, replicator: str = 'lightsync',
         policies: Iterable[Policy] = REPLICATED) -> ClusterSpec:
    """Return the spec of the cluster that the tests expect.

    :param root: the directory of the cluster
    :param replicator: 'lightsync' or 'stock'
    :param policies: the replicated ones, of one device a node; one with
        erasure coding follows them, if none is there
    """
    policies = [replace(each, part_power=PART_POWER,
                        devices=0 if each.parity else 1) for each in policies]
    if not any(each.parity for each in policies):
        policies.append(Policy('ec42', len(policies), 6,
                               part_power=PART_POWER, parity=2))
    return ClusterSpec(
        root=root, nodes=4, devices=2, policies=tuple(policies),
        base_port=BASE_PORT, replication_ports=False, replicator=replicator,
        disks='directory', options=OPTIONS, ports={
            'proxy-server': PROXY_PORT, 'memcached': MEMCACHED_PORT})


def _scratch(root: str) -> str:
    return os.path.join(root, 'scratch')


def _own_directories(cluster: Cluster) -> None:
    """Let what is written to /etc and /run go to memory."""
    scratch = _scratch(cluster.spec.root)
    upper, work = (os.path.join(scratch, name) for name in ('etc', 'work'))
    os.makedirs(scratch, exist_ok=True)
    commands.run(['mount', '-t', 'tmpfs', 'tmpfs', scratch])
    for path in (upper, work):
        os.mkdir(path)
    commands.run(['mount', '-t', 'overlay', 'overlay', '-o',
                  'lowerdir=/etc,upperdir=%s,workdir=%s' % (upper, work),
                  '/etc'])
    run = os.path.realpath('/var/run')
    commands.run(['mount', '-t', 'tmpfs', 'tmpfs', run])
    for link, path in (('/etc/swift', cluster.layout.etc),
                       (os.path.join(run, 'swift'), cluster.layout.run)):
        if os.path.lexists(link):
            commands.run(['mount', '--bind', path, link])
        else:
            os.symlink(path, link)


def _drop_other_disks() -> None:
    """Forget the devices of other clusters, which came along with the mounts.

    They could not be freed as long as this namespace lasts.
    """
    with open('/proc/self/mounts') as mounts:
        paths = [line.split()[1] for line in mounts]
    for path in paths:
        if re.search(r'/srv/node\d+/[^/]+$', path):
            commands.run(['umount', '--lazy', path], check=False)


def _own_disk(cluster: Cluster) -> None:
    """Mount an XFS for the devices, directories that tests rename."""
    image = os.path.join(cluster.spec.root, 'probe.img')
    with open(image, 'wb') as sparse:
        sparse.truncate(DISK_SIZE)
    commands.run(['mkfs.xfs', '-q', '-f', image])
    os.makedirs(cluster.layout.srv, exist_ok=True)
    commands.run(['mount', '-o', 'loop,noatime', image, cluster.layout.srv])
    os.unlink(image)


def _add_files(cluster: Cluster) -> None:
    """Write what the tests want besides an ordinary cluster's files."""
    os.makedirs(os.path.join(cluster.layout.etc, 'backups'), exist_ok=True)
    with open(os.path.join(cluster.layout.etc,
                           'container-sync-realms.conf'), 'w') as realms:
        realms.write(REALMS)
    script = cluster.layout.launcher('resetswift')
    with open(script, 'w') as out:
        out.write(RESETSWIFT.format(python=sys.executable,
                                    root=cluster.spec.root))
    os.chmod(script, 0o755)  # nosec: B103


def reset(root: str) -> None:
    """Empty the devices, the recon caches and memcached."""
    cluster = Cluster.open(root)
    cluster.daemons.end_managers()
    for node in cluster.spec.node_numbers():
        for path in (cluster.layout.node_dir(node),
                     cluster.layout.cache_dir(node)):
            shutil.rmtree(path)
            os.makedirs(path)
    cluster.disks.create()
    with socket.create_connection(('127.0.0.1', MEMCACHED_PORT)) as cache:
        cache.sendall(b'flush_all\r\n')
        cache.recv(64)
    cluster.daemons.start_managers()


def _run_and_reap(argv: Sequence[str], environment: dict[str, str]) -> int:
    """Run argv as the first process of a process namespace has to.

    Daemons that lose their parent become children of this process: were they
    not waited for, swift-init would take the dead ones for running.

    :returns: the exit status of argv
    """
    child = subprocess.Popen(argv, env=environment)
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status)


def _environment(cluster: Cluster) -> dict[str, str]:
    """Let Swift's own commands come first: here they find /etc/swift."""
    environment = cluster.environment()
    environment['PATH'] = os.pathsep.join((
        sysconfig.get_path('scripts'), environment['PATH']))
    return environment


def inside(text: str, *argv: str) -> int:
    """Make the world, as the first process of new namespaces; run argv in it.

    :param text: the ClusterSpec, in JSON
    :returns: the exit status of argv
    """
    cluster = Cluster(ClusterSpec.from_json(text))
    commands.run(['ip', 'link', 'set', 'lo', 'up'])
    _drop_other_disks()
    _own_disk(cluster)
    cluster.prepare()
    _add_files(cluster)
    _own_directories(cluster)
    return _run_and_reap(argv, _environment(cluster))


def run(cluster: Cluster, argv: list[str]) -> int:
    """Run argv in a world of its own, and leave nothing but the logs.

    :param cluster: a Cluster, of a spec() above; its directory is for the
        logs, and all that is there meanwhile
    :param argv: the command to run
    :returns: its exit status
    :raises ToolError: unless this machine and user can do it
    """
    commands.need_root('--probe')
    commands.need('ip', 'memcached', 'mkfs.xfs', 'mount', 'rsync', 'unshare')
    with cluster.locked():
        for path in (cluster.layout.logs, cluster.layout.etc):
            shutil.rmtree(path, ignore_errors=True)
        try:
            return subprocess.call([
                'unshare', '--mount', '--net', '--pid', '--fork',
                '--kill-child', '--mount-proc', sys.executable, '-m',
                'tools.cluster.probe', 'inside', cluster.spec.to_json(),
                *argv])
        finally:
            layout = cluster.layout
            for path in (layout.etc, layout.bin, layout.run, layout.srv,
                         layout.cache, _scratch(cluster.spec.root)):
                shutil.rmtree(path, ignore_errors=True)
            for path in (layout.spec, layout.log_socket):
                if os.path.exists(path):
                    os.unlink(path)


def main() -> int:
    try:
        verb, *args = sys.argv[1:]
        return (inside if verb == 'inside' else reset)(*args) or 0
    except ToolError as err:
        print('saio: %s' % err, file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
