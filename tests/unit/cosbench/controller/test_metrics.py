# SPDX-License-Identifier: Apache-2.0
"""What monitors read of a controller and of a driver."""

from types import SimpleNamespace

from cosbench.controller.metrics import families
from swift_lightsync.common.openmetrics import exposition, parse
from tests.unit.cosbench.console.sites import SHORT, TOKEN, SiteCase
from tests.unit.cosbench.controller import runs


class TestController(SiteCase):

    async def test_who_has_the_token_reads_the_states_of_all_workloads(self):
        self.controller.submit(SHORT.encode())
        answer = await self.client.get('/metrics')
        self.assertEqual(401, answer.status)
        answer = await self.client.get('/metrics', headers={
            'Authorization': 'Bearer ' + TOKEN.decode()})
        self.assertEqual(200, answer.status)
        self.assertTrue(answer.content_type.startswith(
            'application/openmetrics-text'))
        found = {labels['state']: value for name, labels, value in parse(
            await answer.text()) if name == 'cosbench_workloads'}
        self.assertEqual((1, 0), (found['queuing'], found['finished']))

    async def test_a_run_has_its_counts_and_its_drivers(self):
        driver = runs.driver('a')
        run = runs.started([driver])
        runs.share(run.stages[0].works[0], driver, 50)
        run.context.lost['a'] = 'gone'
        entry = SimpleNamespace(run=run, state=run.state)
        found = {(name, labels.get('operation')): value
                 for name, labels, value in parse(exposition(families(
                     SimpleNamespace(ids=['w1'], entry=lambda _: entry))))}
        self.assertEqual(50, found['cosbench_operations_total', 'op1'])
        self.assertEqual(350, found['cosbench_bytes_total', 'op1'])
        self.assertAlmostEqual(.5, found[
            'cosbench_response_seconds_total', 'op1'], 5)
        self.assertEqual(0, found['cosbench_driver_up', None])
