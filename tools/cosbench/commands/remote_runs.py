# SPDX-License-Identifier: Apache-2.0
"""Runs of an experiment by a controller and its drivers, on their hosts."""

import signal
import sys
import time
from contextlib import contextmanager
from threading import Event
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
    with _signals() as told_to_end:
        there = call(args, 'POST', '/v1/workloads?seed=%d' % seed, data)['id']
        path = '/v1/workloads/' + quote(there, safe='')
        has_ended = _wait(args, path, told_to_end)
    if not has_ended:
        print('%s is cancelled at the controller' % there, file=sys.stderr)
        call(args, 'POST', path + '/cancel')
        _wait(args, path, Event())
    return call(args, 'GET', path + '/result')


def _wait(args, path, told_to_end):
    """Wait for the end of a run; a controller may be away for a while.

    :param told_to_end: an ``Event``, which ends the wait, too
    :returns: whether the run has ended
    """
    failing = None
    while not told_to_end.wait(LOOK):
        try:
            state = call(args, 'GET', path)['state']
            failing = None
        except CallFailed:
            failing = failing or time.monotonic()
            if time.monotonic() - failing > PATIENCE:
                raise
        else:
            if WorkloadState(state).final:
                return True
    return False


@contextmanager
def _signals():
    """Have SIGTERM and SIGINT end no more than a wait.

    :returns: a context of an ``Event``, which they set
    """
    told_to_end = Event()
    before = {number: signal.signal(number, lambda *_: told_to_end.set())
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told_to_end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
