# SPDX-License-Identifier: Apache-2.0
"""progress: a line now and then, on a terminal in its place."""

import io
import os
import pty
import subprocess
import sys
import threading
import unittest
from importlib.util import find_spec
from unittest import mock

from swift_lightsync.common.progress import INTERVAL, Progress

ON_A_TERMINAL = '''
import sys
%s
from swift_lightsync.common.progress import Progress
now = [0.0]
progress = Progress(sys.stdout, clock=lambda: now[0])
progress.begin('check', 100, 'bytes')
for done in (10, 50):
    now[0] += 1
    progress.advance(done, done)
progress.say('found')
now[0] += 1
progress.advance(99, 99)
progress.clear()
'''


class ProgressTestCase(unittest.TestCase):

    def setUp(self):
        self.now = 0.0
        self.out = io.StringIO()
        self.progress = Progress(self.out, clock=lambda: self.now)

    def lines(self):
        found = self.out.getvalue().splitlines()
        self.out.seek(0)
        self.out.truncate()
        return found


class TestLines(ProgressTestCase):

    def test_there_is_one_every_few_seconds(self):
        self.progress.begin('check', 100)
        for second in range(1, 21):
            self.now = second
            self.progress.advance(second, 3 * second)
        self.assertEqual(['check: 30 records, 3/s, 10%, 0:01:30 left',
                          'check: 60 records, 3/s, 20%, 0:01:20 left'],
                         self.lines())

    def test_a_total_that_is_not_known_has_no_share(self):
        self.progress.begin('sort', unit='entries')
        self.now = INTERVAL
        self.progress.advance(0, 50)
        self.assertEqual(['sort: 50 entries, 5/s'], self.lines())

    def test_more_than_the_total_is_all(self):
        self.progress.begin('check', 10)
        self.now = INTERVAL
        self.progress.advance(20, 20)
        self.assertEqual(['check: 20 records, 2/s, 100%, 0:00:00 left'],
                         self.lines())

    def test_steps_look_at_the_clock_now_and_then(self):
        clock = mock.Mock(return_value=0.0)
        progress = Progress(self.out, clock=clock)
        progress.begin('check', 5000)
        before = clock.call_count
        clock.return_value = 2 * INTERVAL
        for _ in range(1000):
            progress.step()
        self.assertLess(clock.call_count - before, 10)
        self.assertEqual(1, len(self.lines()))

    def test_a_task_begins_anew(self):
        self.now = INTERVAL - 1
        self.progress.begin('next')
        self.now = INTERVAL
        self.progress.advance(0, 1)
        self.assertEqual([], self.lines())

    def test_a_callers_words_are_made_only_when_they_are_shown(self):
        words = mock.Mock(return_value='main 5 s')
        self.progress.show(words)
        self.now = INTERVAL
        self.progress.show(words)
        self.progress.show(words)
        self.assertEqual(['main 5 s'], self.lines())
        self.assertEqual(1, words.call_count)

    def test_a_line_that_stays_is_there_at_once(self):
        self.progress.say('warning: x')
        self.progress.clear()
        self.assertEqual(['warning: x'], self.lines())

    def test_several_threads_count(self):
        self.progress.begin('upload', 8000, 'files')
        threads = [threading.Thread(target=lambda: [
            self.progress.step() for _ in range(1000)]) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.now = INTERVAL
        self.progress.step(0)
        self.assertEqual('upload: 8000 files, 800/s, 100%, 0:00:00 left',
                         self.progress.text(8000))

    def test_where_nobody_reads_the_run_goes_on(self):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, 'w') as out:
            progress = Progress(out)
            progress.say('x')
            progress.say('y' * 100000)


class TestTerminal(unittest.TestCase):

    def shown(self, before=''):
        leader, follower = pty.openpty()
        with subprocess.Popen(
                [sys.executable, '-c', ON_A_TERMINAL % before],
                stdin=subprocess.DEVNULL, stdout=follower,
                env=dict(os.environ, TERM='xterm', COLUMNS='80')) as process:
            os.close(follower)
            pieces = []
            try:
                while pieces[-1:] != [b'']:
                    pieces.append(os.read(leader, 4096))
            except OSError:
                # Linux's way to say that the last writer has gone.
                pass
            self.assertEqual(0, process.wait(120))
        os.close(leader)
        return b''.join(pieces).decode()

    @unittest.skipUnless(find_spec('rich'), 'rich is not installed')
    def test_a_line_changes_in_its_place_and_goes(self):
        text = self.shown()
        for words in ('check: 10 bytes', 'check: 50 bytes', 'found\r\n',
                      'check: 99 bytes'):
            self.assertIn(words, text)
        self.assertIn('\x1b[2K', text)
        # What is hidden is shown again, also if the process is killed then.
        self.assertGreater(text.rfind('\x1b[?25h'), text.rfind('\x1b[?25l'))
        self.assertTrue(text.split('check: 99')[1].strip())

    def test_without_rich_there_are_lines(self):
        text = self.shown('sys.modules["rich"] = None\n'
                          'sys.modules["rich.console"] = None')
        self.assertEqual('found\r\n', text)
