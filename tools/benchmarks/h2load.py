# SPDX-License-Identifier: Apache-2.0
"""h2load, a load generator in C, as a contestant of ``bench cosbench``."""

import os
import re
import shutil
import subprocess

from tools.benchmarks.http_clients import Scenario
from tools.benchmarks.settings import BenchError

_DONE = re.compile(rb'requests: .*?(\d+) succeeded, (\d+) failed')
_TOOK = re.compile(rb'finished in ([\d.]+)(ms|s)')


def ask(port: int, scenario: Scenario, workers: int,
        seconds: float) -> tuple[int, int, float, float]:
    """Load the server with GETs over HTTP/1.1.

    :param workers: connections, a request at a time on each
    :returns: (operations, failures, CPU seconds of its process, seconds)
    :raises BenchError: if it is not installed, or cannot do what is asked
    """
    program = shutil.which('h2load')
    if program is None:
        raise BenchError('h2load is not there; Debian has it in '
                         'nghttp2-client')
    if scenario.method != 'GET':
        raise BenchError('h2load has no bodies of its own: only GETs')
    process = subprocess.Popen(
        [program, '--h1', '-c', str(workers), '-t', '1', '-D',
         str(max(1, round(seconds))), 'http://127.0.0.1:%d/v1/a/c/%d' % (
             port, scenario.size)], stdout=subprocess.PIPE)
    with process.stdout or open(os.devnull, 'rb') as stream:
        said = stream.read()
    # Its own: those of all children would be the server's, too.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    done, took = _DONE.search(said), _TOOK.search(said)
    if status or done is None or took is None:
        raise BenchError('h2load ended with %d: %r' % (status, said[-200:]))
    return (int(done[1]), int(done[2]), used.ru_utime + used.ru_stime,
            float(took[1]) / (1000 if took[2] == b'ms' else 1))
