# SPDX-License-Identifier: Apache-2.0
"""The versioning filter with a clock that a test sets: it goes ahead or
behind, or stands still.

``use = call:tests.functional.site_clocks:filter_factory``, whose option
``clocks`` names a directory that has a file for each site.
"""

import json
import os
import time

from swift_lightsync.versioning.proxy.middleware import Versioning


class Clock:
    """:param path: of the file that says how it goes"""

    def __init__(self, path):
        self.path = path

    def set(self, ahead=0.0, still=None):
        """:param ahead: seconds
        :param still: the time at which it stands, Unix time
        """
        # A reader sees the old clock or the new one.
        with open(self.path + '.new', 'w') as file:
            json.dump({'ahead': ahead, 'still': still}, file)
        os.replace(self.path + '.new', self.path)

    def __call__(self):
        """:returns: its time, Unix time"""
        try:
            with open(self.path) as file:
                found = json.load(file)
        except FileNotFoundError:
            return time.time()
        if found['still'] is not None:
            return found['still']
        return time.time() + found['ahead']


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    conf = dict(global_conf, **local_conf)
    clock = Clock(os.path.join(conf['clocks'], conf['site']))
    return lambda app: Versioning(app, conf, now=clock)
