# SPDX-License-Identifier: Apache-2.0
"""
A paste filter that lets each request to a server wait.

``paste.filter_factory = tools.benchmarks.versioning.delay:filter_factory``,
whose option ``delay_file`` names the file with the seconds. There is no
delay while there is no such file.
"""

import os

from swift.common.concurrency import sleep


def set_delay(path, seconds):
    """
    :param path: of the file
    :param seconds: that each request waits from now on
    """
    # A reader sees the old delay or the new one.
    with open(path + '.new', 'w') as file:
        file.write(repr(seconds))
    os.replace(path + '.new', path)


class Delay:
    """
    :param app: the server
    :param path: of the file with the seconds
    :param wait: lets a request wait for seconds
    """

    def __init__(self, app, path, wait=sleep):
        self.app = app
        self.path = path
        self.wait = wait

    def _seconds(self):
        try:
            with open(self.path) as file:
                return float(file.read())
        except FileNotFoundError:
            return 0

    def __call__(self, env, start_response):
        seconds = self._seconds()
        if seconds:
            self.wait(seconds)
        return self.app(env, start_response)


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    return lambda app: Delay(app, local_conf['delay_file'])
