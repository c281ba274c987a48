# SPDX-License-Identifier: Apache-2.0
"""Clients that work in threads while a test does something else."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def at_work(works):
    """Have clients at work within the context.

    :param works: of each client, a function of the threading.Event that is
        set when it is to return
    :raises Exception: at the end, what one of them raised
    """
    stop = threading.Event()
    with ThreadPoolExecutor(len(works)) as pool:
        clients = [pool.submit(work, stop) for work in works]
        try:
            yield
        finally:
            stop.set()
    for client in clients:
        client.result()
