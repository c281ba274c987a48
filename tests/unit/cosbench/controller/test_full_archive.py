# SPDX-License-Identifier: Apache-2.0
"""Archives that cannot be written, and what is lost by it: nothing."""

import asyncio
import contextlib
import errno
import json
import os
from unittest import mock

from cosbench.controller import run_store as archives
from cosbench.controller import runfile, workload_queue
from cosbench.controller.core.workload_states import WorkloadState
from cosbench.controller.run_store import REPORTED, RUN
from cosbench.controller.runfile import Unwritten
from tests.unit.cosbench.console.sites import SHORT, SiteCase
from tests.unit.cosbench.controller.test_run_store import ArchiveCase

REASON = 'No space left on device'


def full():
    """:returns: a context in which no file can be written"""
    return mock.patch.object(os, 'fsync', side_effect=OSError(
        errno.ENOSPC, REASON))


class TestArchive(ArchiveCase):

    def test_an_error_names_what_could_not_be_written(self):
        document = self.saved()
        path = self.archive.path(document['id'])
        with full(), self.assertRaisesRegex(
                Unwritten, '^%s cannot be written: %s$' % (path, REASON)):
            self.archive.save(document)
        with mock.patch.object(archives.os, 'mkdir', side_effect=OSError(
                errno.EROFS, 'Read-only file system', 'name')), \
                self.assertRaisesRegex(
                    Unwritten, '^name cannot be written: Read-only'):
            self.archive.new('n')
        self.assertEqual([document['id']], self.archive.ids)

    def test_what_was_half_written_takes_no_room(self):
        document = self.saved()
        with full(), self.assertRaises(Unwritten):
            self.archive.save(document)
        self.assertEqual([RUN], os.listdir(
            self.archive.path(document['id'])))

    def test_what_has_ended_is_kept_until_it_is_written(self):
        document = self.saved()
        run_id = document['id']
        final = {**document, 'state': 'finished'}
        with full(), self.assertLogs('cosbench.archive', 'ERROR') as logged:
            self.archive.finish(final)
            # It is told of once.
            self.archive.finish_again()
        self.assertEqual(1, len(logged.output))
        self.assertIn(REASON, self.archive.unwritten(run_id))
        self.assertEqual(final, self.archive.load(run_id))
        self.archive.finish_again()
        self.assertIsNone(self.archive.unwritten(run_id))
        self.assertIn('report.html', os.listdir(self.archive.path(run_id)))
        self.assertEqual([final], self.reopen().recover())

    def test_a_report_that_goes_wrong_loses_no_result(self):
        document = self.saved(state='finished')
        for error in (KeyError('x'), runfile.RecordError('not CSV')):
            with mock.patch.object(archives, 'write_archive',
                                   side_effect=error), \
                    self.assertLogs('cosbench.archive', 'ERROR'):
                self.assertEqual([document], self.reopen().recover())
            self.assertIsNotNone(self.archive.unwritten(document['id']))

    def test_a_full_one_is_recovered(self):
        self.saved(state='processing', started=6.0)
        waiting = self.saved()
        archive = self.reopen()
        with full(), self.assertLogs('cosbench.archive', 'ERROR') as logged:
            first, second = archive.recover()
        self.assertIn(first['id'], logged.output[0])
        self.assertEqual(('terminated', waiting), (first['state'], second))
        self.assertEqual(first, archive.load(first['id']))


class TestController(SiteCase):

    async def state(self, run_id):
        """:returns: as all that tell it do"""
        one = '/v1/workloads/' + run_id
        listed = json.loads((await self.api('GET', '/v1/workloads'))[1])
        found = {each['state'] for each in listed['workloads']
                 if each['id'] == run_id}
        for path in (one, one + '/result'):
            found.add(json.loads((await self.api('GET', path))[1])['state'])
        state, = found
        return state

    async def test_what_is_submitted_is_refused_and_leaves_nothing(self):
        with full(), self.assertLogs('cosbench', 'ERROR'):
            status, text, _ = await self.api('POST', '/v1/workloads',
                                             data=SHORT)
        self.assertEqual(507, status)
        self.assertRegex(json.loads(text)['error'],
                         'cannot be written: ' + REASON)
        await self.login()
        csrf = await self.csrf()
        with full(), self.assertLogs('cosbench', 'ERROR'):
            status, text, _ = await self.submit(SHORT, csrf)
        self.assertEqual(507, status)
        self.assertIn(REASON, text)
        self.assertEqual(['.lock'], os.listdir(self.directory))
        self.assertEqual([], self.controller.ids)
        self.assertEqual(201, (await self.api('POST', '/v1/workloads',
                                              data=SHORT))[0])

    async def test_what_is_cancelled_stays_so(self):
        await self.api('POST', '/v1/workloads', data=SHORT)
        with full(), self.assertLogs('cosbench', 'ERROR'):
            status, _, _ = await self.api('POST',
                                          '/v1/workloads/w1/cancel')
        self.assertEqual(202, status)
        self.assertEqual('cancelled', await self.state('w1'))
        await self.controller.close()
        self.assertIsNone(self.archive.unwritten('w1'))
        self.assertEqual('cancelled', self.archive.load('w1')['state'])

    async def ended(self, run):
        """Have a workload run, and wait for its end, by a full disk."""
        self.controller.submit(SHORT.encode())
        with full(), \
                mock.patch.object(workload_queue.WorkloadRun, 'run', run), \
                self.assertLogs('cosbench', 'ERROR'):
            await self.work_until(
                lambda: self.archive.unwritten('w1') is not None
                and self.controller.entry('w1').state.final)

    async def work_until(self, condition):
        worker = asyncio.ensure_future(self.controller.work())
        while not condition():
            await asyncio.sleep(0.01)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    async def test_a_run_that_ends_is_shown_and_written_later(self):
        async def run(run):
            run.enter(WorkloadState.PROCESSING)
            run.enter(WorkloadState.FINISHED)
        await self.ended(run)
        self.assertEqual('finished', await self.state('w1'))
        self.controller._policy = workload_queue.Policy(save_period=0.01)
        await self.work_until(
            lambda: self.archive.unwritten('w1') is None)
        self.assertEqual('finished', await self.state('w1'))
        self.assertIn('report.html', os.listdir(self.archive.path('w1')))

    async def test_one_that_breaks_down_is_shown_and_written_later(self):
        async def run(run):
            raise KeyError('broken')
        await self.ended(run)
        self.assertEqual('failed', await self.state('w1'))
        await self.controller.close()
        self.assertEqual('failed', self.archive.load('w1')['state'])
        self.assertIsNone(self.archive.unwritten('w1'))

    async def test_a_log_that_cannot_be_written_fails_no_run(self):
        @contextlib.contextmanager
        def journal(directory):
            yield
            raise OSError(errno.ENOSPC, REASON)

        async def run(run):
            run.enter(WorkloadState.FINISHED)
        entry = self.controller.begin(SHORT.encode())
        with mock.patch.object(workload_queue, 'journal', journal), \
                mock.patch.object(workload_queue.WorkloadRun, 'run', run), \
                self.assertLogs('cosbench.controller', 'ERROR') as logged:
            await self.controller.run(entry)
        self.assertIn('w1: workload.log: ', logged.output[0])
        self.assertEqual('finished', await self.state('w1'))

    async def test_a_run_that_does_not_begin_fails(self):
        self.controller.submit(SHORT.encode())
        with mock.patch.object(workload_queue, 'journal', side_effect=OSError(
                errno.ENOSPC, REASON)), \
                self.assertLogs('cosbench.controller', 'ERROR'):
            await self.work_until(lambda: REPORTED in os.listdir(
                self.archive.path('w1')))
        self.assertEqual('failed', await self.state('w1'))
        self.assertIn(REASON, self.archive.load('w1')['warnings'][-1])


class TestRecovery(SiteCase):

    async def test_one_that_is_refused_now_fails_and_the_others_go_on(self):
        self.controller.submit(SHORT.encode())
        self.controller.submit(SHORT.encode())
        document = self.archive.load('w1')
        self.archive.save({**document, 'xml': SHORT.replace(
            '"mock"', '"gone"')})
        with self.assertLogs('cosbench.controller', 'ERROR') as logged:
            controller = workload_queue.Controller(self.archive, [])
            await controller.open()
        self.assertIn('w1 is refused: line ', logged.output[0])
        self.assertEqual(['w1', 'w2'], controller.ids)
        self.assertEqual('queuing', controller.entry('w2').state.value)
        found = controller.document('w1')
        self.assertEqual('failed', found['state'])
        self.assertRegex(found['warnings'][-1],
                         'it is refused: line .*gone')
        self.assertEqual(found, self.archive.load('w1'))
        self.assertIn('.reported', os.listdir(self.archive.path('w1')))
