# SPDX-License-Identifier: Apache-2.0
"""The pages of experiments: what is there, and nothing beside it."""

import asyncio
import html
import json
import os

from aiohttp import FormData

from cosbench.controller.run_store import Archive
from cosbench.experiment.book import Book
from cosbench.experiment.conduct import conduct
from cosbench.experiment.core.expression import parse
from cosbench.experiment.findings import Aims
from cosbench.experiment.shelf import findings
from tests.unit.cosbench.console.sites import EVIL, SHORT, SiteCase
from tests.unit.cosbench.directory_case import DirectoryCase
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
        await super().asyncSetUp()
        self.experiments = self.hosted.directory
        os.mkdir(self.experiments)

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
        self.assertIn('There is none yet.', text)

    async def test_nobody_sees_them_without_a_login(self):
        made(os.path.join(self.experiments, 'x'))
        for path in ('/experiments', '/experiments/x'):
            status, text, fields = await self.ask('GET', path)
            self.assertEqual((303, '/login', ''),
                             (status, fields['Location'], text))


class TestForms(SiteCase):
    """Nobody runs the queue: what an experiment submits waits."""

    async def asyncSetUp(self):
        await super().asyncSetUp()
        await self.login()

    async def begin(self, files=(('a.xml', SHORT), ('b.xml', SHORT)),
                    **fields):
        form = FormData(quote_fields=False)
        for key, value in {
                'csrf': await self.csrf(), 'name': 'mine', 'repeats': '2',
                'most': '3', 'warm_up': '0', 'precision': '2',
                'confidence': '95', **fields}.items():
            form.add_field(key, value)
        # What a browser sends where no file is chosen.
        for number, (name, text) in enumerate(files or [('', b'')] * 2):
            form.add_field('other-file' if number else 'base-file', text,
                           filename=name,
                           content_type='application/octet-stream')
        return await self.ask('POST', '/experiments', data=form)

    async def submitted(self):
        """Wait until it has a run in the queue; return the run's seed."""
        while True:
            for each in self.controller.ids:
                entry = self.controller.entry(each)
                if not entry.state.final:
                    return entry.document['seed']
            await asyncio.sleep(0.01)

    async def ended(self):
        while self.hosted.is_running('mine'):
            await asyncio.sleep(0.01)

    async def test_one_is_begun_stopped_and_continued(self):
        status, text, fields = await self.begin(
            conditions='mean(read) > 1.5 * base\n\nfailures(read) > 0')
        self.assertEqual((303, '/experiments/mine'),
                         (status, fields['Location']), text)
        seed = await self.submitted()
        _, text, _ = await self.ask('GET', '/experiments/mine')
        self.assertIn('0 of 2 to 3 rounds of 2 configurations', text)
        self.assertIn('>Stop this experiment<', text)
        sent = {'csrf': await self.csrf()}
        await self.ask('POST', '/experiments/mine/stop', data=sent)
        await self.ended()
        _, text, _ = await self.ask('GET', '/experiments/mine')
        self.assertIn('is cancelled: the experiment stops', text)
        status, _, _ = await self.ask('POST', '/experiments/mine/go-on',
                                      data=sent)
        self.assertEqual(303, status)
        # The same place of the plan is run once more.
        self.assertEqual(seed, await self.submitted())
        # What it was asked for is known before its first round.
        self.assertEqual(
            ['mean(read) > 1.5 * base', 'failures(read) > 0'],
            [each.text for each in findings(
                self.hosted.path('mine')).aims.conditions])
        await self.hosted.close()
        self.assertFalse(self.hosted.is_running('mine'))

    async def test_texts_serve_as_files_do(self):
        status, _, _ = await self.begin((), base=SHORT, other=SHORT)
        self.assertEqual(303, status)
        _, text, _ = await self.ask('GET', '/experiments')
        self.assertIn('base, other', text)

    async def test_what_is_wrong_is_said_and_what_was_written_stays(self):
        for fields, words in (
                ({'name': '../x'}, "name='../x': must be"),
                ({'files': ()}, 'the base is missing'),
                ({'conditions': 'p99(read > 1'}, 'at character 1'),
                ({'files': (('a.xml', '<workload/>'),)}, 'a: line 1: '),
                ({'files': (('a.xml', SHORT),) * 2}, 'of another name'),
                ({'most': '1'}, "most='1': must be"),
                ({'repeats': 'x'}, "repeats='x': must be")):
            status, text, _ = await self.begin(**{
                'conditions': 'mean(read) > 99', **fields})
            self.assertEqual(400, status, fields)
            self.assertIn(words, html.unescape(text))
            self.assertIn('role="alert"', text)
            if 'conditions' not in fields:
                self.assertIn('mean(read) &gt; 99</textarea>', text)
        self.assertEqual([], self.controller.ids)
        await self.begin()
        status, text, _ = await self.begin()
        self.assertEqual(400, status)
        self.assertIn('mine is one of 1 experiments that go on', text)


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
