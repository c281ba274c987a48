# SPDX-License-Identifier: Apache-2.0
"""A paste filter that lets each request to a server wait.

The option ``delay_file`` of ``tools.benchmarks.delay:filter_factory`` names
the file with the seconds. There is no delay while there is no such file.
"""

from collections.abc import Callable
from typing import Any

from swift.common.concurrency import sleep

from swift_lightsync.common.files import replace_file

FILTER = 'delay'


def options(server: str, path: str) -> dict[str, Any]:
    """Return the sections of a server's conf that delay it."""
    return {
        'pipeline:main': {'pipeline': '%s healthcheck recon %s' % (
            FILTER, server)},
        'filter:' + FILTER: {
            'paste.filter_factory': '%s:filter_factory' % __name__,
            'delay_file': path}}


def set_delay(path: str, seconds: float) -> None:
    """Let each request wait so long from now on."""
    replace_file(path, repr(seconds).encode('ascii'))


class Delay:
    """The filter: delays each request to a server.

    :param app: the server
    :param path: of the file with the seconds
    :param wait: lets a request wait for seconds
    """

    def __init__(self, app: Any, path: str,
                 wait: Callable[[float], None] = sleep) -> None:
        self.app, self.path, self.wait = app, path, wait

    def _seconds(self) -> float:
        try:
            with open(self.path) as file:
                return float(file.read())
        except FileNotFoundError:
            return 0

    def __call__(self, env: dict[str, Any], start_response: Any) -> Any:
        seconds = self._seconds()
        if seconds:
            self.wait(seconds)
        return self.app(env, start_response)


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Any:
    """Make the filter, as paste.deploy asks for it."""
    return lambda app: Delay(app, local_conf['delay_file'])
