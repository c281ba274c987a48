# SPDX-License-Identifier: Apache-2.0
"""The operator's guide: what is in it, and that it can be built."""

import os
import subprocess
import unittest
from tempfile import TemporaryDirectory

import pytest

from tools import REPO
from tools.guidebook import pages, reference


class TestPages(unittest.TestCase):

    def test_it_has_all_documents_beside_the_code(self):
        documents = {
            os.path.relpath(os.path.join(place, name), REPO)
            for top in ('swift_lightsync', 'swift_losf', 'tools', 'patches',
                        'tests')
            for place, _, names in os.walk(os.path.join(REPO, top))
            for name in names if name.endswith('.md')}
        self.assertEqual(documents | set(reference.pages()) | {'README.md'}, {
            name for names in pages.PARTS.values() for name in names})

    def test_metrics_messages_and_headers_are_found_in_the_code(self):
        for page, text in (
                (reference.metrics(), '`partition.check.match.…`'),
                (reference.messages(), 'A damaged log is'),
                (reference.headers(), '`X-Backend-Proar-Slot`'),
                (reference.options(), 'full_exchange_interval')):
            self.assertIn(text, page)


@pytest.mark.long
class TestBook(unittest.TestCase):

    def test_it_is_built_without_a_warning(self):
        with TemporaryDirectory() as place:
            done = subprocess.run([os.path.join(REPO, 'tools', 'guide'),
                                   place + '/guide'],
                                  capture_output=True, text=True)
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertTrue(os.path.exists(place + '/guide/html/index.html'))
