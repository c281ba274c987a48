# SPDX-License-Identifier: Apache-2.0
"""The console in a real browser, over real drivers.

COSBENCH_SCREENSHOTS may name a directory for pictures of the pages, on a desk
and on a phone.
"""

import asyncio
import json
import os
import tempfile
import unittest

import pytest

from cosbench.controller.run_store import Archive
from tests.functional.chromium import Chromium, executable
from tests.unit.cosbench.console.sites import evil
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.processes import BEARER, Client, Listener

READ = operation('containers=c(1);objects=u(1,9)', 'read', 'ratio="80"')
WRITE = operation('containers=c(1);objects=s(1,99);sizes=c(1)KB', 'write',
                  'ratio="20"')
MOCK = '<storage type="mock" config="delay=5"/>'
#: A name that would be an element, and call, where it is not escaped.
EVIL = '&lt;img src=x onerror=document.title=1&gt;'
#: Points of the first line of the first chart.
POINTS = '''(document.querySelector('#live path.l0')?.getAttribute('d')
            .match(/[ML]/g) || []).length'''
SEEN = "document.querySelector(%s)?.textContent"


def timed(seconds, name='n'):
    return wrapped(
        work(READ + WRITE, 'workers="4" runtime="%d" interval="1"' % seconds),
        workload='name="%s"' % name, above=MOCK)


class ConsoleCase(unittest.IsolatedAsyncioTestCase):

    #: Results that an earlier controller has left.
    earlier = ()

    async def asyncSetUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        archive = Archive(place.name + '/archive')
        for document in self.earlier:
            archive.finish({**document, 'id': archive.new('earlier')})
        archive.close()
        drivers = [Listener(self, 'driver') for _ in range(2)]
        arguments = ['controller', '--archive', archive.directory,
                     '--experiments', place.name + '/experiments']
        for number, driver in enumerate(drivers, 1):
            arguments += ['--driver', 'd%d=%s' % (number, driver.url)]
        self.controller = Listener(self, *arguments)
        self.client = Client(self.controller)
        self.browser = Chromium()
        await self.browser.start()
        self.addAsyncCleanup(self.browser.close)
        await self.login()

    async def login(self):
        await self.browser.open(self.controller.url + '/')
        await self.browser.wait("location.pathname === '/login' && "
                                "document.activeElement.id === 'token'")
        await self.shot('login')
        await self.browser.run('''
            document.getElementById('token').value = %s;
            document.querySelector('main form').requestSubmit()'''
                               % json.dumps(BEARER))
        await self.browser.wait("location.pathname === '/'")

    async def shot(self, name):
        directory = os.environ.get('COSBENCH_SCREENSHOTS')
        if directory:
            for width in (1280, 390):
                await self.browser.resize(width)
                await self.browser.screenshot(os.path.join(
                    directory, 'console-%s-%d.png' % (name, width)))
            await self.browser.resize(None)

    async def click(self, selector):
        await self.browser.wait('document.querySelector(%s)'
                                '?.click() === undefined && !!document'
                                '.querySelector(%s)' % (
                                    (json.dumps(selector),) * 2))

    async def go(self, path):
        await self.browser.open(self.controller.url + path)

    async def press(self, key, code, text=None):
        for kind in ('keyDown', 'keyUp'):
            await self.browser.call(
                'Input.dispatchKeyEvent', type=kind, key=key,
                windowsVirtualKeyCode=code,
                **({'text': text} if text and kind == 'keyDown' else {}))

    async def write(self, document):
        await self.browser.run('document.getElementById("xml").value = %s'
                               % json.dumps(document))

    async def wait_for_state(self, state):
        await self.browser.wait('document.title.startsWith("%s: ")' % state)


@pytest.mark.long
@unittest.skipUnless(executable(), 'needs Chromium (apt: chromium)')
class TestArchives(ConsoleCase):

    earlier = (evil(), evil())

    async def test_their_text_stays_text(self):
        for path in ('/workloads/w1', '/', '/workloads/w1/report',
                     '/history', '/compare?id=w1&id=w2', '/submit?from=w1'):
            await self.go(path)
            await self.browser.wait(
                'document.body.innerHTML.includes("&lt;script&gt;alert")',
                path)
            self.assertEqual([], self.browser.dialogs, path)
            self.assertEqual(0, await self.browser.run(
                'document.querySelectorAll("body script").length'), path)
            self.assertEqual([], self.browser.errors, path)
        await self.go('/workloads/w1')
        shown = await self.browser.wait(SEEN % '"#live"')
        for words in ('Warnings', 'Failures', 'lost', '<_script>.csv'):
            self.assertIn(words, shown)


@pytest.mark.long
@unittest.skipUnless(executable(), 'needs Chromium (apt: chromium)')
class TestRuns(ConsoleCase):

    async def test_a_workload_is_submitted_watched_and_reported(self):
        browser = self.browser
        await self.go('/submit')
        await self.write(timed(6, EVIL).replace('"4"', '"x"'))
        await self.click('button[value=submit]')
        self.assertIn('workload.xml:4: workers=', await browser.wait(
            SEEN % '".alert"'))
        # The link is there before the script that it needs.
        await browser.wait('''(() => {
            document.querySelector('.alert a').click();
            const text = document.getElementById('xml');
            return document.activeElement === text && text.value.slice(
                text.selectionStart, text.selectionEnd).startsWith(
                    '<work name="w" workers="x"');
            })()''', 'the line is selected')
        await self.shot('refused')

        await self.write(timed(15, EVIL))
        await self.click('button[value=submit]')
        await browser.wait("location.pathname === '/workloads/w1'")
        before = await browser.wait(POINTS)
        await browser.wait('%s > %d' % (POINTS, before), 'the line grows')
        await self.shot('running')
        await self.wait_for_state('finished')
        self.assertEqual('w1 is finished',
                         await browser.run(SEEN % '"#news"'))
        await browser.wait(SEEN % '"a[download]"')
        # The three characters of the evil name are as they were written.
        self.assertIn('<img src=x', await browser.run(SEEN % '"h1"'))
        shown = await browser.run(
            '[...document.querySelectorAll("td")].map((one) => one.innerText)')
        operations = self.client.info('w1')['stages'][0]['works'][0][
            'operations']
        for each in operations:
            self.assertGreater(each['metrics']['op_count'], 0)
            self.assertIn('{:,}'.format(each['metrics']['op_count']), shown)
        await self.shot('finished')
        await self.check_files()
        await self.check_report()
        self.assertEqual(0, await browser.run(
            'document.querySelectorAll("main img").length'))
        # One answer was 400, as it had to be: nothing else went wrong.
        self.assertEqual(1, len(browser.errors), browser.errors)

    async def check_files(self):
        found = await self.browser.run('''Promise.all(
            [...document.querySelectorAll('a[download]')].map(
                async (one) => [one.download, (await fetch(one.href)).status]
            ))''')
        self.assertEqual({200}, {status for _, status in found}, found)
        names = {name for name, _ in found}
        self.assertLessEqual({'result.json', 'report.html', 's1-s.csv'},
                             names)

    async def check_report(self):
        await self.click('.actions a[href$=report]')
        await self.browser.wait("location.pathname.endsWith('/report')")
        self.assertGreater(await self.browser.wait(
            "document.querySelectorAll('svg').length"), 3)
        # The policy lets the style through: lines have a colour.
        self.assertTrue((await self.browser.wait(
            "getComputedStyle(document.querySelector('path.l0')).stroke"
        )).startswith('rgb'))
        await self.shot('report')

    async def test_two_of_the_history_are_compared(self):
        for seed in range(3):
            run_id = self.client.submit(timed(1), seed)
        await asyncio.to_thread(self.client.wait_until, run_id, 'finished')
        await self.go('/history')
        button = "document.querySelector('#runs button').disabled"
        self.assertTrue(await self.browser.run(button))
        for each in ('w1', 'w3'):
            await self.click('input[value=%s]' % each)
        self.assertFalse(await self.browser.run(button))
        self.assertTrue(await self.browser.run(
            "document.querySelector('input[value=w2]').disabled"))
        await self.shot('history')
        await self.click('#runs button')
        await self.browser.wait(SEEN % '"h1"' + ' === "Compare w1 with w3"')
        self.assertIn('operations/s', await self.browser.run(
            'document.querySelector("main").innerText'))
        await self.shot('compare')
        self.assertEqual([], self.browser.errors)

    async def test_the_keyboard_is_enough(self):
        self.client.submit(timed(600))
        self.client.submit(timed(1))
        await self.browser.wait(SEEN % '"#running progress"' + ' === ""')
        await self.browser.wait(SEEN % '"#lists"' + '.includes("w2")')
        await self.shot('queue')
        await self.go('/workloads/w1')
        await self.press('Tab', 9)
        self.assertEqual('skip', await self.browser.run(
            'document.activeElement.className'))
        await self.press('Enter', 13, '\r')
        await self.browser.wait('document.activeElement.id === "main"')
        await self.press('Tab', 9)
        self.assertEqual('Cancel this workload', await self.browser.run(
            'document.activeElement.textContent'))
        # The browser's question is answered with yes.
        await self.press('Enter', 13, '\r')
        await self.wait_for_state('cancelled')
        self.assertEqual(['Cancel w1? What was measured is kept.'],
                         self.browser.dialogs)
        self.assertTrue(await self.browser.run(
            'document.getElementById("cancel").hidden'))
        self.assertEqual([], self.browser.errors)

    async def test_what_one_reads_stays_when_figures_change(self):
        self.client.submit(timed(600))
        await self.go('/workloads/w1')
        await self.browser.wait(POINTS)
        await self.browser.run('''
            document.querySelector('#live details').open = true;
            document.querySelector('#live summary').focus()''')
        before = await self.browser.run(POINTS)
        await self.browser.wait('%s > %d' % (POINTS, before + 1))
        self.assertEqual([True, 'SUMMARY'], await self.browser.run(
            "[document.querySelector('#live details').open, "
            "document.activeElement.tagName]"))

    async def test_a_part_of_the_time_is_looked_at(self):
        self.client.submit(timed(600))
        await self.go('/workloads/w1')
        await self.browser.wait(POINTS + ' > 3')
        spans = '''[...document.querySelectorAll('svg.zooms')].map((one) =>
            [Number(one.dataset.from), Number(one.dataset.to)])'''
        whole = (await self.browser.run(spans))[0]
        box = await self.browser.run('''(() => {
            const one = document.querySelector('svg.zooms');
            one.scrollIntoView();
            const {left, top, width, height} = one.getBoundingClientRect();
            return [left, top, width, height]; })()''')
        for kind, share in (('mousePressed', .25), ('mouseMoved', .4),
                            ('mouseReleased', .5)):
            await self.browser.call(
                'Input.dispatchMouseEvent', type=kind, button='left',
                buttons=1, clickCount=1, x=box[0] + share * box[2],
                y=box[1] + box[3] / 2)
        (begin, end), other = (await self.browser.run(spans))[:2]
        self.assertTrue(whole[0] < begin < end < whole[1], (begin, end))
        # The other chart goes on to show everything.
        self.assertEqual(0, other[0])
        await self.shot('zoomed')
        await self.browser.run(
            "document.querySelector('svg.zooms').focus()")
        for key, code in (('ArrowLeft', 37), ('Escape', 27)):
            await self.press(key, code)
            found = (await self.browser.run(spans))[0]
            self.assertEqual(0 if key == 'Escape' else begin -
                             (end - begin) / 4, found[0])
            self.assertTrue(await self.browser.run(
                "document.activeElement === "
                "document.querySelector('svg.zooms')"))
        self.assertEqual([], self.browser.errors)

    async def test_an_experiment_is_begun_on_its_page_and_watched(self):
        browser = self.browser
        await self.go('/experiments')
        await browser.run('''
            for (const [key, text] of Object.entries(%s)) {
              document.getElementById(key).value = text;
            }''' % json.dumps({
            'name': 'mine', 'base': timed(2, EVIL),
            'other': timed(2).replace('delay=5', 'delay=9'),
            'conditions': 'mean(read) > 1.2 * base', 'repeats': '2',
            'most': '2', 'warm_up': '0'}))
        await self.shot('new-experiment')
        await browser.run("document.getElementById('name').focus()")
        await self.press('Enter', 13, '\r')
        await browser.wait("location.pathname === '/experiments/mine'")
        await browser.wait(SEEN % '"main"' + '.includes("1 of 2 to 2 rounds")')
        await self.shot('experiment-running')
        await browser.wait(SEEN % '"main"' + '.includes("It has ended.")')
        shown = await browser.run(SEEN % '"main"')
        for words in ('FAILED: other: mean(read) > 1.2 * base', 'worse',
                      'storage: delay'):
            self.assertIn(words, shown)
        self.assertFalse(await browser.run(
            "!!document.querySelector('main form')"))
        await self.shot('experiment')
        self.assertEqual([], browser.errors)

    async def test_a_failure_says_what_it_was(self):
        self.client.submit(timed(3).replace(
            '"mock" config="delay=5"', '"swift" config="token=t;'
            'storage_url=http://127.0.0.1:9/v1/a"'))
        await self.go('/workloads/w1')
        await self.wait_for_state('failed')
        shown = await self.browser.wait(SEEN % '"#failures"')
        self.assertIn('127.0.0.1:9: ', shown)
        links = '''[...document.querySelectorAll('.contents a')].map((one) =>
            document.querySelector(one.getAttribute('href'))
            .firstChild.textContent === one.textContent)'''
        self.assertEqual([True] * 6, await self.browser.run(links))
        await self.shot('failed')

    async def test_a_controller_that_is_gone_is_waited_for(self):
        self.client.submit(timed(600))
        await self.go('/workloads/w1')
        await self.browser.wait(POINTS)
        port = self.controller.port
        self.controller.kill()
        await self.browser.wait(
            SEEN % '"#news"' + '.startsWith("No figures")')
        self.controller.start(port)
        # It knows of no session any more.
        await self.browser.wait("location.pathname === '/login'")
