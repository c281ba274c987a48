# SPDX-License-Identifier: Apache-2.0
"""Runs the system's tools, and turns their failures into ClusterErrors."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from tools import ToolError

#: tool -> the Debian package that has it
PACKAGES = {
    'memcached': 'memcached', 'rsync': 'rsync', 'mkfs.xfs': 'xfsprogs',
    'mount': 'mount', 'umount': 'mount', 'ip': 'iproute2',
    'tc': 'iproute2', 'iptables': 'iptables',
    'nsenter': 'util-linux', 'unshare': 'util-linux'}


def is_root() -> bool:
    return os.geteuid() == 0


def need(*tools: str) -> None:
    """Check that commands are on PATH.

    :raises ToolError: which names the packages to install
    """
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = sorted({PACKAGES[tool] for tool in missing})
        raise ToolError('%s not found; as root: apt-get install %s' % (
            ', '.join(missing), ' '.join(packages)))


def need_root(what: str) -> None:
    """Check that this is root.

    :param what: what is wanted
    :raises ToolError: if it is not
    """
    if not is_root():
        raise ToolError('%s: only root can do this; run it as root'
                        % what)


def run(argv: Sequence[str], check: bool = True, **kwargs: Any
        ) -> 'subprocess.CompletedProcess[str]':
    """Run a command and capture its output as text.

    :param argv: the command line
    :param check: whether a failure is an error
    :raises ToolError: with what the command said, when it failed
    """
    try:
        done = subprocess.run(argv, stdin=kwargs.pop('stdin', None),
                              capture_output=True, text=True,
                              errors='backslashreplace', **kwargs)
    except FileNotFoundError as err:
        raise ToolError('cannot run %s: %s' % (argv[0], err)) from err
    if check and done.returncode:
        raise ToolError('%s: exit status %d\n%s%s' % (
            shlex.join(argv), done.returncode, done.stdout, done.stderr))
    return done
