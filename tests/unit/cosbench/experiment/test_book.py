# SPDX-License-Identifier: Apache-2.0
"""An experiment's directory: what has finished is kept, the rest is run."""

import json
import os
import random

from cosbench.controller.run_store import Archive
from cosbench.errors import ArchiveError, ConfigError
from cosbench.experiment.book import Book
from cosbench.experiment.conduct import RunFailed, conduct, order, run_seed
from cosbench.experiment.core.expression import parse
from cosbench.experiment.findings import Aims
from cosbench.measure.result import Result
from tests.unit.cosbench import results
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.experiment.plans import plan

PLAN = plan('base', 'other', warm_up=1, other='<workload name="o"/>')
AIMS = Aims(least=3, most=3)


class Killed(BaseException):
    """The process ends here."""


class Runner:
    """Writes generated results into the archive of a book.

    :param dies_in: which of its runs it does not come back from
    """

    def __init__(self, book, dies_in=None, state='finished'):
        self.book, self.dies_in, self.state = book, dies_in, state
        self.seeds = []

    def __call__(self, data, seed, begun):
        archive = Archive(self.book.archive)
        try:
            run_id = archive.new('n')
            begun(run_id)
            slow = 2 if data.startswith(b'<workload name="o"') else 1
            document = {**results.generated(
                len(self.seeds), mean_ms=5 * slow, seconds=20),
                'id': run_id, 'seed': seed}
            self.seeds.append((slow, seed))
            if len(self.seeds) == self.dies_in:
                archive.save({**document, 'state': 'processing'})
                raise Killed()
            document['state'] = self.state
            archive.finish(document)
            return Result.from_json(document, 'result')
        finally:
            archive.close()


class TestBook(DirectoryCase):

    def book(self, wanted=PLAN):
        book = Book(self.path('x'), wanted)
        self.addCleanup(self.close, book)
        return book

    def close(self, book):
        if book is not None:
            try:
                book.close()
            except OSError:
                pass

    def conducted(self, dies_in=None):
        book = self.book()
        book.recover()
        runner = Runner(book, dies_in)
        try:
            return runner, conduct(book, AIMS, runner, lambda line: None)
        finally:
            book.close()

    def document(self):
        with open(self.path('x/result.json')) as stream:
            return json.load(stream)

    def test_rounds_are_in_an_order_that_follows_from_the_seed(self):
        runner, found = self.conducted()
        self.assertEqual([
            (2 if name == 'other' else 1, run_seed(7, round_))
            for round_ in range(4)
            for name in order(7, round_, PLAN.names)], runner.seeds)
        self.assertEqual(3, found.rounds)
        self.assertEqual(
            {'base', 'other'},
            {order(7, each, PLAN.names)[0] for each in range(20)})
        mean, = [each for each in self.document()['figures']
                 if each['figure'] == 'mean' and each['ratio']]
        self.assertAlmostEqual(2, mean['ratio'], delta=.1)
        with open(self.path('x/report.html')) as stream:
            self.assertIn('worse', stream.read())

    def test_a_run_that_was_killed_is_the_only_one_that_is_run_again(self):
        # The fifth run is in the second round that counts.
        with self.assertRaises(Killed):
            self.conducted(dies_in=5)
        again, found = self.conducted()
        self.assertEqual(4, len(again.seeds))
        ids = self.document()['configurations']
        self.assertEqual({'w%d' % each for each in (3, 4, 6, 7, 8, 9)},
                         {each for runs in ids.values() for each in runs})
        self.assertEqual(3, found.rounds)
        # One more time there is nothing left to do.
        self.assertEqual([], self.conducted()[0].seeds)

    def test_wherever_it_is_killed_it_ends_as_if_it_had_not_been(self):
        whole = self.conducted()[1]
        rng = random.Random(3)
        for _ in range(4):
            self.directory = self.path('again')
            os.mkdir(self.directory)
            seeds = []
            while True:
                try:
                    runner, found = self.conducted(rng.randrange(1, 6))
                    break
                except Killed:
                    seeds.append(0)
            self.assertEqual(whole.rounds, found.rounds)
            self.assertEqual([row.operation for row in whole.rows],
                             [row.operation for row in found.rows])

    def test_a_run_that_failed_stops_it_with_the_reason(self):
        book = self.book()
        with self.assertRaisesRegex(RunFailed, 'run w1 of .* is failed'):
            conduct(book, AIMS, Runner(book, state='failed'),
                    lambda line: None)
        self.assertEqual(0, len(book.rounds()['base']))

    def test_a_condition_is_refused_after_the_first_round(self):
        book = self.book()
        runner = Runner(book)
        with self.assertRaisesRegex(ConfigError, 'operation wriet'):
            conduct(book, Aims((parse('p99(wriet) > 1'),)), runner,
                    lambda line: None)
        self.assertEqual(2, len(runner.seeds))

    def test_another_experiment_is_not_mixed_with_it(self):
        self.book().close()
        for other, words in (
                (plan('base', 'x'), 'configurations'),
                (plan('base', 'other'), 'documents'),
                (plan('base', 'other', warm_up=1, seed=8,
                      other='<workload name="o"/>'), 'seed')):
            with self.assertRaisesRegex(ConfigError, words):
                Book(self.path('x'), other)
        book = self.book()
        with self.assertRaisesRegex(ArchiveError, 'another process'):
            Book(self.path('x'), PLAN)
        book.close()
        with self.assertRaisesRegex(ConfigError, 'no directory of an exp'):
            Book(self.path('y'))

    def test_a_plan_that_is_damaged_is_refused(self):
        self.book().close()
        for text in ('', '{"version": 2}', '[1]'):
            self.put('x/experiment.json', text)
            with self.assertRaisesRegex(ConfigError, 'experiment.json'):
                Book(self.path('x'), PLAN)

    def test_only_its_owner_may_read_the_documents(self):
        self.conducted()
        for name in ('experiment.json', 'result.json'):
            self.assertEqual(0o600, os.stat(
                self.path('x/' + name)).st_mode & 0o777)
