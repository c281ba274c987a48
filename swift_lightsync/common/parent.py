# SPDX-License-Identifier: Apache-2.0
"""Ends a process with its parent."""

import ctypes
import os
import signal

#: of prctl(2)
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(parent: int | None = None,
                    how: int = signal.SIGKILL) -> None:
    """Have the kernel signal this process when its parent ends, however.

    A program that it executes is signalled as well. It ends at once if its
    parent has ended already.

    :param parent: its process id, if it was noted before this process was
        forked; None: the parent that there is now
    :param how: the signal
    :raises OSError: if the kernel refuses
    """
    parent = parent or os.getppid()
    if _libc.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    if os.getppid() != parent:
        os._exit(1)
