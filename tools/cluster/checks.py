# SPDX-License-Identifier: Apache-2.0
"""What must hold before a cluster can start; each check names the remedy."""

import os

from tools.cluster import commands
from tools.cluster.errors import ClusterError
from tools.cluster.layout import UNIX_PATH_MAX
from tools.cluster.spec import ClusterSpec

#: what a cluster that has data cannot change
CAST = ('nodes', 'devices', 'policies', 'disks', 'disk_size')


def check_host(spec, layout, tools):
    """
    :param tools: the commands that the cluster needs
    :raises ClusterError: if this machine or user cannot run the cluster
    """
    commands.need(*tools)
    if spec.network == 'namespaces':
        commands.need_root("network='namespaces'")
    if spec.disks == 'xfs':
        commands.need_root("disks='xfs'")
    if len(os.fsencode(layout.log_socket)) > UNIX_PATH_MAX:
        raise ClusterError(
            'the path of the socket %s is longer than the %d bytes that '
            'Linux allows; choose a shorter directory (--dir)'
            % (layout.log_socket, UNIX_PATH_MAX))


def read_spec(layout):
    """
    :returns: the ClusterSpec of the cluster that is there
    :raises ClusterError: if there is none
    """
    try:
        with open(layout.spec) as spec:
            return ClusterSpec.from_json(spec.read())
    except FileNotFoundError as err:
        raise ClusterError('no cluster in %s; make one with `up`'
                           % layout.root) from err


def check_data(spec, layout):
    """:raises ClusterError: if the data there is of another kind of cluster"""
    if not os.path.exists(layout.spec) or not os.path.exists(layout.srv):
        return
    before = read_spec(layout)
    changed = [name for name in CAST if name in before.differences(spec)]
    if changed:
        raise ClusterError('%s was made with %s; `reset` wipes its data and '
                           'makes it anew' % (spec.root, ', '.join(
                               '%s=%r, not %r' % (name, getattr(before, name),
                                                  getattr(spec, name))
                               for name in changed)))
