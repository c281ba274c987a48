# SPDX-License-Identifier: Apache-2.0
"""Proxies whose clocks differ: what one writes has a timestamp that is ahead.

``use = call:tests.functional.skewed_clocks:filter_factory``, whose option
``spread`` names a file that says by how many seconds two clocks may differ.
"""

import os
import random

from swift.common.utils import Timestamp

WRITES = 'PUT', 'POST', 'DELETE'


def filter_factory(_global_conf, spread, **_local_conf):
    """paste.deploy filter factory"""
    def of_app(app):
        def filtered(env, start_response):
            if env['REQUEST_METHOD'] in WRITES:
                with open(spread) as file:
                    # Each process has a clock of its own.
                    env['HTTP_X_TIMESTAMP'] = Timestamp.now(
                        offset=0, delta=int(1e5 * float(file.read())
                                            * random.Random(
                                                os.getpid()).random())
                    ).internal
            return app(env, start_response)
        return filtered
    return of_app
