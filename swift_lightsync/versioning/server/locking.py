# SPDX-License-Identifier: Apache-2.0
"""
The lock of a container's database, which is given in the order of asking.

Swift's lock is polled, ten times a second once it has waited for a while: of
many writers of one container some would wait for seconds. Those of one process
therefore wait for each other, and only one of them polls.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from swift.common.concurrency import Semaphore
from swift.common.exceptions import LockTimeout
from swift.common.utils import lock_parent_directory

_semaphores: 'WeakValueDictionary[str, Semaphore]' = WeakValueDictionary()


@contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """
    Hold Swift's lock of the directory of a file.

    :param path: of the file
    :param seconds: how long to wait, for this process and then for others
    :raises LockTimeout: if that was not enough
    """
    semaphore = _semaphores.setdefault(path, Semaphore(1))
    with LockTimeout(seconds, path):
        semaphore.acquire()
    try:
        with lock_parent_directory(path, seconds):
            yield
    finally:
        semaphore.release()
