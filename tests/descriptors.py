# SPDX-License-Identifier: Apache-2.0
"""What this process has open."""

import contextlib
import os


def open_descriptors():
    """Yield what each descriptor leads to, as Linux names it."""
    for fd in os.listdir('/proc/self/fd'):
        with contextlib.suppress(OSError):
            yield os.readlink('/proc/self/fd/' + fd)


def open_below(directory):
    """Tell what is open of a directory: others may close theirs meanwhile.

    :returns: the paths, one for each descriptor, sorted; the directory's too
    """
    within = os.path.join(os.path.realpath(directory), '')
    return sorted(path for path in open_descriptors()
                  if os.path.join(path, '').startswith(within))
