# SPDX-License-Identifier: Apache-2.0
"""cosbench validate: what people type and get; the published files."""

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
from glob import glob

from cosbench.commands.cli import main
from cosbench.document.reader import read_file
from cosbench.errors import WorkloadError
from cosbench.workload.inheritance import Adaptors
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import PUBLISHED, READ, work, wrapped
from tests.unit.cosbench.processes import ROOT

SAMPLES = os.environ.get('COSBENCH_SAMPLES')
REFUSED = wrapped(work(READ, 'workers="0" runtime="1"'),
                  work(READ, 'workers="1"'))


def run(*argv):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(['validate', *argv])
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


class TestValidate(DirectoryCase):

    def test_a_workload_is_summed_up(self):
        path = self.put('good.xml', PUBLISHED)
        status, out, _ = run(path)
        self.assertEqual((0, (
            '%s: ok: sample: 6 stages, 7 works, at most 26 workers, '
            'operations 1 init, 1 prepare, 1 delay, 1 read, 1 write, '
            '1 list, 1 cleanup, 1 dispose; auth swauth, storage mock, s3, '
            'swift\n') % path), (status, out))

    def test_each_refusal_has_its_file_and_line(self):
        good, bad = self.put('a.xml', wrapped(work(
            READ, 'workers="1" runtime="1" mood="good"'))), \
            self.put('b.xml', REFUSED)
        status, out, _ = run(good)
        # A warning is no refusal.
        self.assertEqual(0, status)
        lines = out.splitlines()
        self.assertTrue(any(each.startswith(good + ': ok: ')
                            for each in lines))
        self.assertIn("%s:4: warning: the attribute 'mood' of work is "
                      'ignored' % good, out)
        status, out, _ = run(good, bad)
        self.assertEqual(1, status)
        self.assertEqual(
            [bad + ":4: workers='0': must be an integer from 1 to "
             '1000000', bad + ':5: work w has no limit: one of runtime, '
             'totalOps, totalBytes must be greater than 0'],
            out.splitlines()[len(lines):])

    def test_a_key_that_nothing_asks_for_is_refused_if_that_is_asked_for(
            self):
        path = self.put('a.xml', wrapped(work(
            READ, 'workers="1" runtime="1" config="rateX=5"')))
        for option, status, words in (
                ((), 0, ':4: warning: config'),
                (('--strict',), 1, ':4: config')):
            found, out, _ = run(*option, path)
            self.assertEqual(status, found)
            self.assertEqual(not status, ': ok: ' in out)
            self.assertIn(path + words, out)

    def test_a_file_that_cannot_be_read_is_named(self):
        path = os.path.join(self.directory, 'none.xml')
        self.assertEqual((1, path + ': No such file or directory\n', ''),
                         run(path))
        self.assertEqual(1, run(self.directory)[0])
        status, _, err = run()
        self.assertEqual(2, status)
        self.assertIn('FILE', err)

    def test_json_has_the_same(self):
        good, bad = self.put('a.xml', PUBLISHED), self.put('b.xml', REFUSED)
        status, out, _ = run('--json', good, bad)
        found = json.loads(out)
        self.assertEqual(1, status)
        self.assertEqual([(good, True), (bad, False)], [
            (each['file'], each['ok']) for each in found])
        self.assertEqual(26, found[0]['summary']['most_workers'])
        self.assertIsNone(found[1]['summary'])
        self.assertEqual([(4, 'error'), (5, 'error')], [
            (each['line'], each['kind']) for each in found[1]['problems']])

    def test_it_runs_as_a_module(self):
        found = subprocess.run(
            [sys.executable, '-m', 'cosbench', 'validate',
             self.put('b.xml', REFUSED)], capture_output=True, text=True,
            cwd=ROOT)
        self.assertEqual((1, 2, ''), (
            found.returncode, len(found.stdout.splitlines()), found.stderr))


class TestSamples(unittest.TestCase):

    def test_those_of_the_project_are_read_without_a_warning(self):
        paths = glob(os.path.join(ROOT, 'etc', 'cosbench', '*.xml'))
        self.assertTrue(paths)
        for path in paths:
            self.assertEqual((), read_file(path).warnings, path)


@unittest.skipUnless(SAMPLES, 'COSBENCH_SAMPLES names no directory')
class TestPublishedFiles(unittest.TestCase):
    """Workload files as COSBench publishes them, which are not ours."""

    def paths(self):
        paths = glob(os.path.join(SAMPLES, '*.xml'))
        self.assertTrue(paths)
        return paths

    def test_each_is_accepted_or_only_lacks_an_adaptor(self):
        accepted = 0
        for path in self.paths():
            try:
                self.assertEqual((), read_file(path).warnings, path)
                accepted += 1
            except WorkloadError as err:
                for problem in err.problems:
                    self.assertRegex(
                        problem.reason, '^(auth|storage) type=', path)
        self.assertTrue(accepted)

    def test_each_is_accepted_where_its_adaptor_is_installed(self):
        theirs = Adaptors(
            auth=Adaptors.auth + ('httpauth',),
            storage=Adaptors.storage + ('ampli', 'cdmi', 'librados', 'oss',
                                        'sproxyd'))
        for path in self.paths():
            workload = read_file(path, theirs).workload
            self.assertTrue(workload.works, path)
