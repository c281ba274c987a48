# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the command line is said before anything is done."""

import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest import mock

from tools.demonstration import cli


class TestMain(unittest.TestCase):
    def run_main(self, *argv):
        errors = io.StringIO()
        with redirect_stderr(errors):
            try:
                status = cli.main(list(argv))
            except SystemExit as err:
                status = err.code
        return status, errors.getvalue()

    def test_too_few_files_are_refused(self):
        for value in ('599', '-5', 'many'):
            status, errors = self.run_main('--files', value)
            self.assertEqual(2, status)
            self.assertIn('allowed: an integer from 600', errors)

    def test_an_act_that_there_is_not_is_refused(self):
        status, errors = self.run_main('--acts', 'losf', 'drama')
        self.assertEqual(2, status)
        self.assertIn("'drama' (choose from", errors)
        self.assertIn('versioning', errors)

    def test_the_acts_that_are_named_are_played_in_their_order(self):
        played = []
        acts = {name: lambda stage, show, args, name=name: SimpleNamespace(
            run=lambda: played.append(name)) for name in cli.ACTS}
        with tempfile.TemporaryDirectory() as directory, \
                mock.patch.object(cli, 'ACTS', acts), \
                mock.patch.object(cli.signal, 'signal'), \
                redirect_stdout(io.StringIO()) as shown:
            status, _ = self.run_main('--dir', directory, '--down', '--acts',
                                      'versioning', 'lightsync')
        self.assertEqual((0, ['lightsync', 'versioning']), (status, played))
        self.assertNotIn('clusters are down', shown.getvalue())

    def test_a_directory_of_someone_else_is_refused_untouched(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, 'precious'))
            status, errors = self.run_main('--dir', directory)
            self.assertEqual(2, status)
            self.assertIn(directory, errors)
            self.assertEqual(['precious'], os.listdir(directory))
