# SPDX-License-Identifier: Apache-2.0
"""Finds out which devices are there without touching them.

A disk that hangs would hang whoever looks at it; the kernel's list of mounts
does not.
"""

import os
import re

MOUNTINFO = '/proc/self/mountinfo'
#: Swift's marker of a directory that counts as a mount
STUB = '.ismount'
DIRECTORY = 'directory'

_ESCAPE = re.compile(r'\\([0-7]{3})')


def parse_mounts(text):
    """Read which mount points there are.

    :param text: the content of /proc/self/mountinfo
    :returns: a dict of mount points to the ids of what is mounted on top
    """
    mounts = {}
    for line in text.splitlines():
        mount_id, _, _, _, point = line.split(' ')[:5]
        mounts[_ESCAPE.sub(lambda match: chr(int(match[1], 8)),
                           point)] = mount_id
    return mounts


def opened_path(fd):
    """Return a path of an open directory.

    It leads there as long as the directory is open, even when it is unmounted.

    :param fd: of the directory
    """
    return '/proc/self/fd/%d' % fd


class Devices:
    """The devices of a node.

    :param root: the directory of their mount points
    :param mount_check: whether they have to be mounted
    """

    def __init__(self, root, mount_check):
        self.root = root
        self.mount_check = mount_check
        self._mounts = {}

    def path(self, device):
        """Return where a device is mounted."""
        return os.path.join(self.root, device)

    def refresh(self):
        """See what is mounted now."""
        if self.mount_check:
            with open(MOUNTINFO, encoding='utf8',
                      errors='surrogateescape') as text:
                self._mounts = parse_mounts(text.read())

    def presence(self, device):
        """Return what tells whether a device is there, and which one.

        :param device: its name
        :returns: None if it is not there; else a value that changes when
            something else is mounted in its place
        """
        path = self.path(device)
        if not self.mount_check:
            return DIRECTORY if os.path.isdir(path) else None
        real = os.path.join(os.path.realpath(self.root), device)
        mount_id = self._mounts.get(real)
        if mount_id is None and os.path.isfile(os.path.join(path, STUB)):
            return DIRECTORY
        return mount_id
