# SPDX-License-Identifier: Apache-2.0
"""The pages of experiments: what is there, and nothing beside it."""

import json
import os

from cosbench.console import site
from cosbench.controller.run_store import Archive
from cosbench.experiment.book import Book
from cosbench.experiment.conduct import conduct
from cosbench.experiment.core.expression import parse
from cosbench.experiment.findings import Aims
from cosbench.experiment.shelf import findings
from tests.unit.cosbench.console.sites import EVIL, SiteCase
from tests.unit.cosbench.directory_case import DirectoryCase, new_directory
from tests.unit.cosbench.experiment.plans import plan
from tests.unit.cosbench.experiment.test_book import Killed, Runner

PLAN = plan('base', EVIL, **{EVIL: '<workload name="o"/>'})
AIMS = Aims((parse('mean(read) > 1.5 * base'),), 2, 2)


def made(directory, dies_in=None):
    book = Book(directory, PLAN)
    try:
        conduct(book, AIMS, Runner(book, dies_in), lambda line: None)
    finally:
        book.close()


class TestPages(SiteCase):

    async def asyncSetUp(self):
        self.experiments = new_directory(self)
        original = site.application

        def application(*args):
            return original(*args, experiments=self.experiments)
        site.application = application
        self.addCleanup(setattr, site, 'application', original)
        await super().asyncSetUp()

    async def test_an_experiment_is_shown_with_its_verdicts(self):
        made(os.path.join(self.experiments, 'mine one'))
        await self.login()
        status, text, _ = await self.ask('GET', '/experiments')
        self.assertEqual(200, status)
        self.assertIn('href="/experiments/mine%20one"', text)
        status, text, _ = await self.ask('GET', '/experiments/mine%20one')
        self.assertEqual(200, status)
        self.assertIn('FAILED: ', text)
        self.assertIn('worse', text)
        self.assertIn('<svg', text)
        self.assertNotIn('<script>alert', text)

    async def test_only_experiments_of_the_directory_are_shown(self):
        os.mkdir(os.path.join(self.experiments, 'other'))
        await self.login()
        for name in ('other', '..%2F', '..%2F..%2Fetc', 'none',
                     '%00'):
            status, text, _ = await self.ask('GET', '/experiments/' + name)
            self.assertEqual(404, status, name)
        _, text, _ = await self.ask('GET', '/experiments')
        self.assertIn('There is none.', text)

    async def test_nobody_sees_them_without_a_login(self):
        made(os.path.join(self.experiments, 'x'))
        for path in ('/experiments', '/experiments/x'):
            status, text, fields = await self.ask('GET', path)
            self.assertEqual((303, '/login', ''),
                             (status, fields['Location'], text))


class TestReader(DirectoryCase):

    def test_it_is_read_while_it_runs_and_says_what_it_said(self):
        with self.assertRaises(Killed):
            made(self.path('x'), dies_in=3)
        # The archive may be another's.
        archive = Archive(self.path('x/archive'))
        self.addCleanup(archive.close)
        found = findings(self.path('x'))
        self.assertEqual(1, found.rounds)
        self.assertEqual(AIMS.conditions, found.aims.conditions)
        self.assertEqual([], found.limits)

    def test_a_result_that_is_none_leaves_the_usual_aims(self):
        made(self.path('x'))
        for text in ('', '[]', json.dumps({'conditions': [{
                'condition': 'rm -rf'}]})):
            self.put('x/result.json', text)
            self.assertEqual(Aims(), findings(self.path('x')).aims)
