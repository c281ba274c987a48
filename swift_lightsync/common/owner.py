# SPDX-License-Identifier: Apache-2.0
"""Has what root makes belong to the user whom its place belongs to.

Swift's daemons run as a user of their own, but are started, and commands are
run, as root. What is made as root, such as an index, they could not open.
"""

import os
import pwd

from swift_lightsync.common.command import UsageError


def become_owner(path: str) -> None:
    """Go on as the user and group that a path belongs to, as root may.

    :param path: of a file or directory
    :raises UsageError: if this is another user than the owner and root
    :raises OSError: if the path is not there
    """
    there = os.stat(path)
    if os.geteuid() == there.st_uid:
        return
    if os.geteuid():
        raise UsageError('%s: belongs to %s: run this as that user or root, '
                         'not as %s' % (path, _name(there.st_uid),
                                        _name(os.geteuid())))
    os.setgroups(os.getgrouplist(_name(there.st_uid), there.st_gid))
    os.setgid(there.st_gid)
    os.setuid(there.st_uid)


def give_to_owner_of(place: str, fd: int) -> None:
    """Give an open file to the owner of a directory, as root may.

    :param place: the directory
    :param fd: of the file
    :raises OSError: if that is not possible
    """
    if not os.geteuid():
        there = os.stat(place)
        os.fchown(fd, there.st_uid, there.st_gid)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return 'user %d' % uid
