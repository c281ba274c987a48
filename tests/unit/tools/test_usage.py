# SPDX-License-Identifier: Apache-2.0
"""The tools help at once, with what their parsers say."""

import json
import os
import re
import subprocess
import sys
import unittest
from tempfile import TemporaryDirectory

from tools import REPO
from tools.usage import TOOLS

HERE = os.path.join(REPO, 'tools')


def words(text):
    return re.sub(r'\s+', ' ', text)


class TestUsage(unittest.TestCase):
    @unittest.skipUnless((3, 10) <= sys.version_info < (3, 13),
                         'argparse words its help otherwise')
    def test_texts_are_what_the_parsers_say(self):
        # In a process of its own: modules leave directories until its end.
        printed = subprocess.check_output([
            sys.executable, '-c', 'import json, tools.usage; '
            'print(json.dumps(tools.usage.texts()))'], cwd=REPO)
        for name, text in json.loads(printed).items():
            with self.subTest(name=name), \
                    open(os.path.join(HERE, 'usage', name)) as stored:
                self.assertEqual(
                    words(text), words(stored.read()),
                    'tools/env python -m tools.usage writes it anew')

    def test_help_needs_no_environment(self):
        with TemporaryDirectory() as nowhere:
            venv = os.path.join(nowhere, 'venv')
            for argv in (*((name, '--help') for name in TOOLS),
                         ('saio', 'up', '-h'), ('env', '--help'),
                         ('test', '--help'), ('demo', '--quick', '--help')):
                done = subprocess.run(
                    [os.path.join(HERE, argv[0]), *argv[1:]],
                    env=dict(os.environ, LIGHTSYNC_VENV=venv),
                    capture_output=True, text=True)
                self.assertEqual((0, ''), (done.returncode, done.stderr))
                self.assertIn('tools/' + argv[0], done.stdout)
            self.assertFalse(os.path.exists(venv))
