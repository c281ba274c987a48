# SPDX-License-Identifier: Apache-2.0
"""
The cluster's ``bin``: every swift command, told where this cluster lives.

Swift's commands look in /etc/swift and /var/run/swift. A launcher has the
name of the command (swift-init finds daemons on PATH by name, and tells
processes by their command line), sets the directories by Swift's own
variables, enters the network namespace of the node whose conf it is given
(if the cluster has namespaces) and runs the installed command.
"""

import glob
import os
import sys
import sysconfig

LAUNCHER = '''\
#!{python}
import ctypes
import os
import re
import runpy
import sys

from swift.common import utils

utils.set_swift_dir({etc!r})
name = os.path.basename(sys.argv[0])
if name in ('swift-init', 'swift-orphans', 'swift-oldies', 'swift-reload'):
    from swift.common import manager
    manager.SWIFT_DIR = {etc!r}
    manager.RUN_DIR = {run!r}
    # bound when the class was made, and used by ``swift-init reload``
    manager.Manager.__init__.__defaults__ = ({run!r},)
node = re.fullmatch({conf_pattern!r}, sys.argv[1]) if sys.argv[1:] else None
if {namespaces!r} and node:
    with open({namespaces!r} % node.group(1)) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
            sys.exit('setns %s: %s' % (
                namespace.name, os.strerror(ctypes.get_errno())))
runpy.run_path(os.path.join({scripts!r}, name), run_name='__main__')
'''
#: the object server of the replication network, under a name of its own
ALIASES = {'swift-replication-server': 'swift-object-server'}


def write(layout, namespaces=''):
    """
    Fill the cluster's ``bin``.

    :param layout: the cluster's Layout
    :param namespaces: path of node %s's network namespace, if it has one
    """
    os.makedirs(layout.bin, exist_ok=True)
    scripts = sysconfig.get_path('scripts')
    names = [os.path.basename(path)
             for path in glob.glob(os.path.join(scripts, 'swift-*'))]
    for name in names + list(ALIASES):
        _write_one(layout, scripts, name, namespaces)


def _write_one(layout, scripts, name, namespaces):
    text = LAUNCHER.format(
        python=sys.executable, etc=layout.etc, run=layout.run,
        scripts=scripts, namespaces=namespaces,
        conf_pattern=r'%s/[a-z]+-server/(\d+)\.conf' % layout.etc)
    if name in ALIASES:
        text = text.replace("name = os.path.basename(sys.argv[0])",
                            "name = %r" % ALIASES[name])
    path = layout.launcher(name)
    with open(path, 'w') as launcher:
        launcher.write(text)
    os.chmod(path, 0o755)
