# SPDX-License-Identifier: Apache-2.0
"""Runs of an experiment by a controller and its drivers, on their hosts."""

import signal
import sys
import time
from contextlib import contextmanager
from urllib.parse import quote

from cosbench.commands.remote import CallFailed, call
from cosbench.controller.core.workload_states import WorkloadState
from cosbench.errors import ConfigError
from cosbench.experiment.conduct import elsewhere

#: Seconds between two looks, and in which a controller must answer again.
LOOK, PATIENCE = 1.0, 60.0
#: What the controller decides for all of its runs.
_ITS = ('watch', 'end_run', 'triggers', 'request_log')


def check(args):
    """Ask the controller for its drivers.

    :returns: how many there are
    :raises ConfigError: if an option is given that is the controller's
    :raises CallFailed: if it does not answer
    """
    for name in _ITS:
        if getattr(args, name):
            raise ConfigError('--%s is an option of the controller, not of '
                              'an experiment with --controller'
                              % name.replace('_', '-'))
    return len(call(args, 'GET', '/v1/drivers')['drivers'])


def runner(args):
    """Return a function for ``conduct`` that has a controller do the runs."""
    return elsewhere(args.archive, lambda data, seed: _fetch(
        args, data, seed))


def _fetch(args, data, seed):
    there = call(args, 'POST', '/v1/workloads?seed=%d' % seed, data)['id']
    path = '/v1/workloads/' + quote(there, safe='')
    try:
        with _signals():
            _wait(args, path)
    except KeyboardInterrupt:
        print('%s is cancelled at the controller' % there, file=sys.stderr)
        call(args, 'POST', path + '/cancel')
        _wait(args, path)
    return call(args, 'GET', path + '/result')


def _wait(args, path):
    """Wait for the end of a run; a controller may be away for a while."""
    failing = None
    while True:
        try:
            state = call(args, 'GET', path)['state']
            failing = None
        except CallFailed:
            failing = failing or time.monotonic()
            if time.monotonic() - failing > PATIENCE:
                raise
        else:
            if WorkloadState(state).final:
                return
        time.sleep(LOOK)


@contextmanager
def _signals():
    """Have SIGTERM end the block as SIGINT does."""
    def interrupt(number, frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
