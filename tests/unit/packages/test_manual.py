# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion, from help texts."""

import shutil
import subprocess
import unittest

from tools.packages.manual import completion, options, page

HELP = '''\
usage: swift-thing [-h] [--max-seconds S]
                   [IP:port ...]

Ask the object-servers. It is quick.

positional arguments:
  IP:port          ask these only

options:
  -h, --help       show this help message and exit
  --max-seconds S  how old
.hidden            starts with a dot

Exits with 0: all is well.
'''


class TestPage(unittest.TestCase):

    def setUp(self):
        self.page = page('swift-thing', HELP, '1.2')

    def test_its_name_has_the_first_sentence(self):
        self.assertIn('.SH NAME\nswift-thing \\- Ask the object\\-servers\n',
                      self.page)

    def test_each_part_of_the_help_is_a_section(self):
        self.assertEqual(['NAME', 'SYNOPSIS', 'POSITIONAL ARGUMENTS',
                          'OPTIONS', 'SEE ALSO'], [
            line[4:] for line in self.page.splitlines()
            if line.startswith('.SH ')])
        self.assertIn('Exits with 0: all is well.', self.page)

    def test_no_line_of_the_text_is_taken_for_a_request(self):
        self.assertIn('\\&.hidden', self.page)

    @unittest.skipUnless(shutil.which('man'), 'there is no man')
    def test_man_shows_it_without_a_warning(self):
        done = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', '-'],
                              input=self.page, capture_output=True,
                              text=True)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertIn('--max-seconds S', done.stdout)


class TestCompletion(unittest.TestCase):

    def test_long_options_are_found_once(self):
        self.assertEqual(['--help', '--max-seconds'], options(HELP + HELP))

    def test_bash_completes_an_option(self):
        script = '\n'.join([
            *completion([('swift-thing', HELP), ('swift-other', '--odd')]),
            '_swift_lightsync swift-thing --m; echo "${COMPREPLY[@]}"',
            '_swift_lightsync swift-other --; echo "${COMPREPLY[@]}"'])
        done = subprocess.run(['bash', '-c', script], capture_output=True,
                              text=True, check=True)
        self.assertEqual('--max-seconds\n--odd\n', done.stdout)
