# SPDX-License-Identifier: Apache-2.0
"""log_watch.py: inotify on real directories."""

import errno
import os
import shutil
import tempfile
import unittest
from unittest import mock

from inotify_simple import Event, flags

from swift_lightsync.proar.converger.log_watch import CONTENT, NAMES, LogWatch


class TestLogWatch(unittest.TestCase):

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.watch = LogWatch()
        self.addCleanup(self.watch.close)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, data=b'x'):
        with open(self.path(name), 'ab') as file:
            file.write(data)

    def test_where_too_many_watch_each_directory_is_refused(self):
        with mock.patch('swift_lightsync.proar.converger.log_watch.INotify',
                        side_effect=OSError(errno.EMFILE, 'too many')):
            watch = LogWatch()
        with self.assertRaisesRegex(OSError, 'too many'):
            watch.watch(self.root, CONTENT)
        self.assertEqual(set(), watch.events())
        watch.close()

    def test_without_events_there_are_none(self):
        self.watch.watch(self.root, CONTENT)
        self.assertEqual(set(), self.watch.events())

    def test_files_that_are_made_changed_or_put_there_are_told_once(self):
        self.write('old')
        self.write('elsewhere')
        self.watch.watch(self.root, CONTENT)
        for name in 'new', 'old', 'old':
            self.write(name)
        os.rename(self.path('elsewhere'), self.path('moved'))
        self.assertEqual({(self.root, name) for name in (
            'new', 'old', 'moved')}, self.watch.events())
        self.assertEqual(set(), self.watch.events())

    def test_names_are_told_of_without_what_is_written(self):
        self.write('old')
        self.watch.watch(self.root, NAMES)
        self.write('old')
        os.mkdir(self.path('proar'))
        self.assertEqual({(self.root, 'proar')}, self.watch.events())

    def test_a_directory_that_is_made_anew_can_be_watched_again(self):
        for _ in range(2):
            os.mkdir(self.path('proar'))
            self.watch.watch(self.path('proar'), CONTENT)
            self.watch.watch(self.path('proar'), CONTENT)
            self.write('proar/1.log')
            self.assertEqual({(self.path('proar'), '1.log')},
                             self.watch.events())
            shutil.rmtree(self.path('proar'))
            self.watch.events()
            self.assertEqual({}, self.watch._paths)

    def test_a_directory_that_is_not_there_is_an_error(self):
        with self.assertRaises(FileNotFoundError):
            self.watch.watch(self.path('nowhere'), CONTENT)

    def test_lost_events_are_told_of(self):
        with mock.patch.object(self.watch._inotify, 'read', return_value=[
                Event(-1, flags.Q_OVERFLOW, 0, '')]):
            self.assertEqual({(None, None)}, self.watch.events())
