# SPDX-License-Identifier: Apache-2.0
"""What must hold before a cluster can start; each check names the remedy."""

import os

from tools import ToolError
from tools.cluster import commands
from tools.cluster.layout import UNIX_PATH_MAX, Layout
from tools.cluster.spec import ClusterSpec

#: what a cluster that has data cannot change
CAST = ('nodes', 'devices', 'policies', 'disks', 'disk_size')
#: service -> the command that it needs
NEEDED = {'object': 'rsync', 'proxy': 'memcached'}


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


def check_host(spec: ClusterSpec, layout: Layout, *tools: str) -> None:
    """Check that this machine and user can run a cluster.

    :param tools: the commands that its network and devices need
    :raises ToolError: if they cannot
    """
    commands.need(*tools, *(NEEDED[service] for service in spec.services
                            if service in NEEDED))
    for name, value in (('network', 'namespaces'), ('disks', 'xfs')):
        if getattr(spec, name) == value:
            commands.need_root('%s=%r' % (name, value))
    if len(os.fsencode(layout.log_socket)) > UNIX_PATH_MAX:
        raise ToolError(
            'the path of the socket %s is longer than the %d bytes that '
            'Linux allows; choose a shorter directory (--dir)'
            % (layout.log_socket, UNIX_PATH_MAX))


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
