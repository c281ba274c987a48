# SPDX-License-Identifier: Apache-2.0
"""Commands that write to a device go on as its owner, or not at all."""

import os
import tempfile
import unittest
from multiprocessing import get_context

from swift_lightsync.common.command import UsageError
from swift_lightsync.common.owner import become_owner

USER, GROUP, OTHER = 65531, 65532, 65533


def _become(path, first, answer):
    if first:
        os.setuid(first)
    try:
        become_owner(path)
        answer.put((os.getresuid(), os.getresgid(), os.getgroups()))
    except UsageError as err:
        answer.put(str(err))


@unittest.skipIf(os.geteuid(), 'only root can be another user')
class TestOwner(unittest.TestCase):

    def setUp(self):
        self.path = self.enterContext(tempfile.TemporaryDirectory())
        os.chown(self.path, USER, GROUP)

    def become(self, first=0, path=None):
        """Return what a process of a user becomes, or is told."""
        fork = get_context('fork')
        answer = fork.SimpleQueue()
        process = fork.Process(target=_become, args=(
            path or self.path, first, answer))
        process.start()
        process.join()
        return answer.get()

    def test_root_becomes_the_owner_for_good(self):
        self.assertEqual(((USER,) * 3, (GROUP,) * 3, [GROUP]),
                         self.become())

    def test_the_owner_stays_who_it_is(self):
        self.assertEqual((USER,) * 3, self.become(USER)[0])
        self.assertEqual((0,) * 3, self.become(path='/')[0])

    def test_any_other_user_is_told_who_may_run_it(self):
        self.assertEqual(
            '%s: belongs to user %d: run this as that user or root, not as '
            'user %d' % (self.path, USER, OTHER), self.become(OTHER))
