# SPDX-License-Identifier: Apache-2.0
"""Scripts of the tests, and what has become of them."""

import os

from tests.unit.cosbench.directory_case import new_directory
from tests.unit.cosbench.processes import DEADLINE
from tests.waiting import is_running, wait_for

#: Write down two processes, and wait. The second does so itself: before it
#: is a program of its own, it may lose signals.
HOLD = "echo $$ > pids; sh -c 'echo $$ >> pids; exec sleep 1000' & wait"


class Scripts:
    """A directory of scripts.

    :param case: the test, which removes it
    """

    def __init__(self, case):
        place = new_directory(case)
        self.root = os.path.realpath(place)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text, mode=0o755):
        """:param text: of a shell, which begins in the directory"""
        with open(self.path(name), 'w') as stream:
            stream.write('#!/bin/sh\ncd %s\n%s\n' % (self.root, text))
        os.chmod(self.path(name), mode)

    def remove(self, name):
        os.unlink(self.path(name))

    def lines(self, name):
        """:returns: those of a file; none, if it is not there"""
        try:
            with open(self.path(name)) as stream:
                return stream.read().splitlines()
        except FileNotFoundError:
            return []

    def pids(self):
        """:returns: both that ``HOLD`` writes down"""
        return [int(each) for each in wait_for(
            lambda: len(self.lines('pids')) == 2 and self.lines('pids'),
            'a script runs', DEADLINE)]


def wait_for_end(*pids):
    wait_for(lambda: not any(map(is_running, pids)), '%s end' % (pids,),
             DEADLINE)
