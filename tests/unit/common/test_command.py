# SPDX-License-Identifier: Apache-2.0
"""command: exit statuses, one line of an error, and output nobody reads."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import unittest

from swift_lightsync.common.address import parse_host
from swift_lightsync.common.command import (
    UNREAD,
    UsageError,
    add_json,
    argument,
    json_text,
    require_extra,
    run,
)
from swift_lightsync.common.options import positive_seconds

PRINTING = '''
import argparse, sys
from swift_lightsync.common.command import run
def work(args):
    for _ in range(int(args.lines)):
        print('x' * 99)
    return 0
parser = argparse.ArgumentParser()
parser.add_argument('lines')
sys.exit(run(parser, work))
'''


class TestRun(unittest.TestCase):

    def run_it(self, work, *argv, **options):
        parser = argparse.ArgumentParser(prog='prog')
        add_json(parser)
        parser.add_argument('--host', type=argument(parse_host))
        parser.add_argument('--wait', type=argument(positive_seconds))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = run(parser, work, argv, **options)
        return status, said.getvalue()

    def test_the_status_is_that_of_the_work(self):
        for status in (0, 1):
            self.assertEqual((status, ''), self.run_it(
                lambda _, status=status: status))

    def test_the_arguments_are_parsed(self):
        seen = []
        self.run_it(lambda args: seen.append(args) or 0, '--json',
                    '--host', 'a:1', '--wait', '2')
        self.assertEqual((True, ('a', 1), 2.0), (
            seen[0].json, seen[0].host, seen[0].wait))

    def test_a_failure_is_one_line_and_its_status(self):
        def fail(error):
            def work(args):
                raise error
            return work
        for error, status in ((UsageError('no ring'), 2),
                              (KeyError('no ring'), 2),
                              (FileNotFoundError('no ring'), 2),
                              (OSError('no ring'), 1)):
            found, said = self.run_it(
                fail(error), bad_input=(KeyError, FileNotFoundError))
            self.assertEqual(status, found)
            self.assertRegex(said, "^prog: '?no ring'?\n$")

    def test_a_mistake_of_ours_is_not_hidden(self):
        with self.assertRaises(ZeroDivisionError):
            self.run_it(lambda _: 1 / 0)

    def test_a_wrong_argument_is_status_2_and_says_what_is_allowed(self):
        for argv, reason in (
                (('--host', 'x'), "argument --host: 'x' must be IP:port"),
                (('--wait', 'x'), "argument --wait: 'x' must be a number of "
                 'seconds above 0')):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), \
                    self.assertRaises(SystemExit) as caught:
                self.run_it_here(argv)
            self.assertEqual(2, caught.exception.code)
            self.assertIn(reason, said.getvalue())

    def run_it_here(self, argv):
        parser = argparse.ArgumentParser(prog='prog')
        parser.add_argument('--host', type=argument(parse_host))
        parser.add_argument('--wait', type=argument(positive_seconds))
        run(parser, lambda args: 0, argv)

    def test_json_is_read_as_it_was_written(self):
        text = json_text({'well': True, 'list': [1]})
        self.assertEqual({'well': True, 'list': [1]}, json.loads(text))
        self.assertTrue(text.endswith('\n'))


class TestUnread(unittest.TestCase):

    def test_nobody_reads_it(self):
        environment = dict(os.environ)
        environment.pop('PYTHONUNBUFFERED', None)
        for lines in ('1', '100000'):
            reader, writer = os.pipe()
            os.close(reader)
            try:
                done = subprocess.run(
                    [sys.executable, '-c', PRINTING, lines], stdout=writer,
                    stderr=subprocess.PIPE, env=environment, timeout=120)
            finally:
                os.close(writer)
            self.assertEqual((UNREAD, b''), (done.returncode, done.stderr))

    def test_without_stdout_it_works(self):
        done = subprocess.run(
            ['sh', '-c', '"$@" >&-', 'sh', sys.executable, '-c', PRINTING,
             '0'], stderr=subprocess.PIPE, timeout=120)
        self.assertEqual((0, b''), (done.returncode, done.stderr))


    def test_a_disk_that_is_full_at_the_last_line_is_one_line(self):
        environment = {name: value for name, value in os.environ.items()
                       if name != 'PYTHONUNBUFFERED'}
        with open('/dev/full', 'w') as full:
            done = subprocess.run(
                [sys.executable, '-c', PRINTING, '1'], stdout=full,
                stderr=subprocess.PIPE, text=True, env=environment)
        self.assertEqual(1, done.returncode)
        self.assertIn('No space left on device', done.stderr)
        self.assertEqual(1, done.stderr.count('\n'), done.stderr)

    def test_with_streams_that_were_closed_it_works(self):
        code = PRINTING.replace(
            'def work(args):',
            'from swift_lightsync.common.progress import Progress\n'
            'def work(args):\n    Progress().say("here")')
        done = subprocess.run(
            ['sh', '-c', 'exec "$@" >&- 2>&-', 'sh', sys.executable, '-c',
             code, '1'])
        self.assertEqual(0, done.returncode)


class TestExtra(unittest.TestCase):

    def test_what_is_there_is_no_problem(self):
        require_extra('prog', 'losf', 'json', 'argparse')

    def test_a_part_of_a_package_that_is_missing_is_missing(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, \
                self.assertRaises(SystemExit):
            require_extra('prog', 'losf', 'no_such_package.part')
        self.assertIn('no_such_package.part is not', said.getvalue())

    def test_what_is_missing_is_named_with_what_installs_it(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), \
                self.assertRaises(SystemExit) as caught:
            require_extra('cosbench', 'cosbench', 'json', 'no_such_module')
        self.assertEqual(1, caught.exception.code)
        self.assertEqual(
            "cosbench: no_such_module is not installed: pip install "
            "'swift-lightsync[cosbench]'\n", said.getvalue())
