# SPDX-License-Identifier: Apache-2.0
"""Nobody passes who has not logged in; nobody sends another's forms."""

import asyncio
import gzip
import json
import os
import unittest
from unittest import mock

from aiohttp import web
from aiohttp.log import server_logger

from cosbench.console import gate
from cosbench.console.site import HEADERS
from cosbench.driver.secret import client_tls, server_tls
from cosbench.driver.signed_server import BROKEN
from tests.unit.cosbench import results
from tests.unit.cosbench.adaptors import certificates
from tests.unit.cosbench.console.sites import SHORT, TOKEN, SiteCase
from tests.unit.cosbench.directory_case import new_directory

PAGES = ('/', '/history', '/submit', '/compare', '/workloads/w1',
         '/workloads/w1/report')
READS = ('/v1/workloads', '/v1/drivers', '/v1/workloads/w1/result',
         '/v1/workloads/w1/files', '/v1/workloads/w1/files/report.html')
CHANGES = ('/submit', '/logout', '/workloads/w1/cancel')


class TestLogin(SiteCase):

    async def test_every_page_leads_to_the_login(self):
        await self.finished(results.tiny())
        for method, path in [('GET', each) for each in PAGES] + [
                ('POST', each) for each in CHANGES]:
            status, text, fields = await self.ask(method, path)
            self.assertEqual((303, '/login', ''),
                             (status, fields['Location'], text), path)
        token = TOKEN.decode()
        for method, path in [('GET', each) for each in READS + (
                '/v1/workloads/w1', '/v1/none')] + [
                    ('POST', '/v1/workloads'),
                    ('POST', '/v1/workloads/w1/cancel')]:
            for sent in ({}, 'Bearer ', token, 'Bearer %sx' % token,
                         'Bearer ' + token[:-1]):
                status, text, _ = await self.ask(
                    method, path, headers=sent and {'Authorization': sent})
                self.assertEqual((401, ['error']), (
                    status, list(json.loads(text))), path)
        self.assertEqual(['w1'], self.controller.ids)

    async def test_the_token_opens_all_pages_and_reads(self):
        await self.finished(results.tiny())
        for path in READS:
            self.assertEqual(200, (await self.api('GET', path))[0], path)
        status, _, fields = await self.login()
        self.assertEqual((303, '/'), (status, fields['Location']))
        for path in PAGES + READS:
            self.assertEqual(200, (await self.ask('GET', path))[0], path)

    async def test_the_cookie_is_for_no_script_and_no_other_site(self):
        _, _, fields = await self.login()
        cookie = fields['Set-Cookie']
        for each in ('HttpOnly', 'SameSite=Strict', 'Path=/'):
            self.assertIn(each, cookie)
        self.assertNotIn('Secure', cookie)
        self.assertNotIn(TOKEN.decode(), cookie)

    async def test_another_token_opens_nothing(self):
        for token in ('', 'x', TOKEN.decode()[:-1], TOKEN.decode() + 'x',
                      'caf\u00e9', 'x' * 3000):
            self.clock.now += 1000
            status, text, fields = await self.login(token)
            self.assertEqual(403, status)
            self.assertIn('not the token', text)
            self.assertNotIn('Set-Cookie', fields)

    async def test_who_fails_waits_even_with_the_token(self):
        for _ in range(gate.FREE + 1):
            self.assertEqual(403, (await self.login('wrong'))[0])
        status, text, fields = await self.login()
        self.assertEqual((429, '3'), (status, fields['Retry-After']))
        self.assertIn('wait 2 s', text)
        self.clock.now += gate.FIRST
        self.assertEqual(303, (await self.login())[0])
        self.assertEqual(403, (await self.login('wrong'))[0])

    async def test_a_login_that_is_large_or_no_form_is_not_read(self):
        self.assertEqual(413, (await self.login('x' * 5000))[0])
        status, _, _ = await self.ask('POST', '/login', data=b'token=x')
        self.assertEqual(415, status)

    async def test_a_login_begins_a_session_of_its_own(self):
        await self.login()
        self.client.session.cookie_jar.update_cookies(
            {gate.COOKIE: 'chosen-by-another'},
            self.client.make_url('/'))
        self.assertEqual(303, (await self.ask('GET', '/'))[0])
        _, _, fields = await self.login()
        self.assertNotIn('chosen-by-another', fields['Set-Cookie'])

    def key(self):
        return next(each.value for each in self.client.session.cookie_jar)

    async def refused(self, key):
        self.client.session.cookie_jar.clear()
        self.assertEqual(303, (await self.ask('GET', '/', headers={
            'Cookie': '%s=%s' % (gate.COOKIE, key)}))[0])

    async def test_a_login_a_logout_and_idleness_end_the_session(self):
        await self.login()
        before = self.key()
        await self.login()
        key = self.key()
        self.assertNotEqual(before, key)
        await self.ask('POST', '/logout', data={'csrf': await self.csrf()})
        self.assertEqual([], list(self.client.session.cookie_jar))
        for each in (before, key):
            await self.refused(each)
        await self.login()
        self.clock.now += gate.IDLE - 1
        self.assertEqual(200, (await self.ask('GET', '/v1/workloads'))[0])
        self.clock.now += gate.IDLE
        self.assertEqual(401, (await self.ask('GET', '/v1/workloads'))[0])


class TestTls(SiteCase):

    async def asyncSetUp(self):
        place = new_directory(self)
        certificate, _ = certificates.make(place)
        self.tls = server_tls(certificate, place + '/key.pem')
        self.trust = client_tls(certificate)
        await super().asyncSetUp()

    async def test_the_cookie_is_for_tls_only(self):
        _, _, fields = await self.login()
        self.assertIn('Secure', fields['Set-Cookie'])
        self.assertEqual(200, (await self.ask('GET', '/'))[0])


class TestForms(SiteCase):

    async def asyncSetUp(self):
        await super().asyncSetUp()
        await self.login()
        self.assertEqual(303, (await self.submit(SHORT))[0])

    async def refused(self, path, data=None, **headers):
        status, _, _ = await self.ask('POST', path, data=data,
                                      headers=headers)
        self.assertEqual(403, status, path)
        self.assertEqual(['w1'], self.controller.ids)
        self.assertFalse(self.controller.entry('w1').state.final)
        self.assertEqual(200, (await self.ask('GET', '/'))[0])

    async def test_nothing_changes_without_the_token_of_the_session(self):
        good = await self.csrf()
        for bad in (None, '', 'x', good[:-1], TOKEN.decode()):
            for path in CHANGES:
                await self.refused(path, {
                    'xml': SHORT, **({'csrf': bad} if bad is not None
                                     else {})})

    async def test_a_token_of_another_session_is_none(self):
        other = await self.csrf()
        await self.login()
        self.assertNotEqual(other, await self.csrf())
        await self.refused('/workloads/w1/cancel', {'csrf': other})

    async def test_another_site_changes_nothing(self):
        csrf = {'csrf': await self.csrf()}
        for fields in ({'Origin': 'http://evil.test'}, {'Origin': 'null'},
                       {'Origin': 'http://['}, {'Origin': ''},
                       {'Origin': 'http://127.0.0.1:1'},
                       {'Sec-Fetch-Site': 'cross-site'},
                       {'Sec-Fetch-Site': 'same-site'}):
            for path in CHANGES + ('/login',):
                await self.refused(path, csrf, **fields)

    async def test_our_own_origin_does(self):
        url = self.client.make_url('/')
        status, _, _ = await self.ask(
            'POST', '/workloads/w1/cancel', data={
                'csrf': await self.csrf()}, headers={
                    'Origin': str(url.origin()),
                    'Sec-Fetch-Site': 'same-origin'})
        self.assertEqual(303, status)
        self.assertEqual('cancelled',
                         self.controller.entry('w1').state.value)
        self.assertEqual(409, (await self.ask(
            'POST', '/workloads/w1/cancel',
            data={'csrf': await self.csrf()}))[0])

    async def test_a_session_changes_nothing_by_the_rest_interface(self):
        for path in ('/v1/workloads', '/v1/workloads/w1/cancel'):
            self.assertEqual(401, (await self.ask(
                'POST', path, data=SHORT))[0])
        self.assertEqual(['w1'], self.controller.ids)

    async def test_a_form_that_does_not_come_is_given_up(self):
        async def slow():
            yield b'csrf='
            await asyncio.sleep(30)
        with mock.patch.object(gate, 'BODY_TIMEOUT', 0.1):
            status, _, _ = await self.ask(
                'POST', '/submit', data=slow(), headers={
                    'Content-Type': 'application/x-www-form-urlencoded'})
        self.assertEqual(408, status)

    async def test_what_is_no_form_is_refused(self):
        for kind in ('multipart/form-data', 'multipart/form-data; boundary=x',
                     'application/x-www-form-urlencoded; charset=none'):
            status, _, _ = await self.ask(
                'POST', '/submit', data=b'--y\xff\r\n',
                headers={'Content-Type': kind})
            self.assertIn(status, (400, 403), kind)

    async def test_an_encoding_is_refused_whether_it_is_one_or_not(self):
        fields = {'Content-Encoding': 'gzip', 'Content-Type':
                  'application/x-www-form-urlencoded'}
        token = {'Authorization': 'Bearer ' + TOKEN.decode()}
        body = b'token=' + TOKEN
        for path, status, more in (
                ('/login', 400, {}), ('/v1/workloads', 401, {}),
                ('/v1/workloads', 400, token),
                ('/v1/workloads/w1/cancel', 400, token)):
            for sent in (body, gzip.compress(body)):
                with mock.patch.object(server_logger, 'exception') as logged:
                    got, text, _ = await self.ask(
                        'POST', path, data=sent, headers={**fields, **more})
                logged.assert_not_called()
                self.assertEqual(status, got, path)
            if status == 400:
                self.assertIn("Content-Encoding='gzip': must be absent",
                              text)

    async def test_who_hangs_up_in_a_body_is_no_error_of_ours(self):
        for read in ('read', 'post'):
            for error in BROKEN:
                with mock.patch.object(web.Request, read,
                                       side_effect=error('gone')):
                    status, _, _ = await (
                        self.login() if read == 'post' else self.api(
                            'POST', '/v1/workloads', data=SHORT))
                self.assertEqual(400, status)


class TestHeaders(SiteCase):

    async def test_each_answer_allows_nothing_but_ours(self):
        await self.finished(results.tiny())
        asked = [('GET', each) for each in PAGES + READS + (
            '/login', '/none', '/static/dom.js', '/static/none',
            '/workloads/w9', '/history?page=x')] + [
                ('POST', each) for each in CHANGES + ('/v1/workloads',)] + [
                    ('PUT', '/'), ('HEAD', '/')]
        for _ in range(2):
            for method, path in asked:
                _, text, fields = await self.ask(method, path)
                for name, value in HEADERS.items():
                    self.assertEqual([value], fields.getall(name), path)
                if path in ('/', '/submit', '/v1/workloads'):
                    self.assertEqual('no-store', fields['Cache-Control'])
                # Nothing that this policy would have to forbid.
                if fields.get('Content-Type', '').startswith('text/html') \
                        and 'Content-Disposition' not in fields:
                    self.assertNotRegex(
                        text, r'<style|<script>| style=| on\w+=|javascript:'
                        r'|https?://', path)
            await self.login()

    async def test_the_policy_is_the_strictest_that_works(self):
        self.assertEqual(
            "default-src 'none'; script-src 'self'; style-src 'self'; "
            "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'",
            HEADERS['Content-Security-Policy'])

    async def test_what_is_loaded_is_ours(self):
        directory = os.path.join(os.path.dirname(gate.__file__), 'static')
        kinds = {'.js': '/javascript', '.css': 'text/css',
                 '.svg': 'image/svg+xml'}
        for name in sorted(os.listdir(directory)) + ['report.css']:
            status, text, fields = await self.ask('GET', '/static/' + name)
            self.assertEqual(200, status)
            self.assertIn(kinds[os.path.splitext(name)[1]],
                          fields['Content-Type'])
            self.assertNotRegex(text.replace(
                'http://www.apache.org', '').replace(
                    'http://www.w3.org', ''), '(?i)https?:|innerHTML|eval')


class TestLockout(unittest.TestCase):

    def setUp(self):
        self.now = 0.0
        self.lockout = gate.Lockout(lambda: self.now)

    def fail(self, address='10.0.0.1', times=1):
        for _ in range(times):
            self.lockout.failed(address)
        return self.lockout.wait(address)

    def test_the_wait_doubles_to_its_limit(self):
        self.assertEqual(0, self.fail(times=gate.FREE))
        waits = [self.fail() for _ in range(50)]
        self.assertEqual([2, 4, 8, 16], waits[:4])
        self.assertEqual(gate.LONGEST, waits[-1])
        self.now += 100
        self.assertEqual(gate.LONGEST - 100,
                         self.lockout.wait('10.0.0.1'))

    def test_others_do_not_wait_and_old_failures_are_forgiven(self):
        self.fail(times=9)
        self.now += gate.MEMORY + 1
        self.assertEqual(0, self.fail())
        self.fail(times=9)
        self.assertEqual(0, self.lockout.wait('10.0.0.2'))
        self.lockout.passed('10.0.0.1')
        self.assertEqual(0, self.lockout.wait('10.0.0.1'))

    def test_a_network_of_ipv6_is_one(self):
        self.fail('2001:db8::1', 9)
        self.assertGreater(self.lockout.wait('2001:db8::2:3'), 0)
        self.assertEqual(0, self.lockout.wait('2001:db8:0:1::1'))
        self.fail(None, 9)
        self.assertGreater(self.lockout.wait(None), 0)

    def test_it_remembers_so_many(self):
        for number in range(gate.MOST_ADDRESSES + 1):
            self.fail('10.1.%d.%d' % divmod(number, 256), 9)
        self.assertEqual(0, self.lockout.wait('10.1.0.0'))
        self.assertGreater(self.lockout.wait('10.1.0.1'), 0)


class TestSessions(unittest.TestCase):

    def setUp(self):
        self.now = 0.0
        self.sessions = gate.Sessions(lambda: self.now)

    def test_a_used_session_ends_too(self):
        key = self.sessions.open()
        while self.now < gate.LIFETIME - 1:
            self.assertTrue(self.sessions.find(key))
            self.now += gate.IDLE / 2
        self.now = gate.LIFETIME
        self.assertIsNone(self.sessions.find(key))

    def test_the_idlest_makes_room(self):
        keys = [self.sessions.open() for _ in range(gate.MOST_SESSIONS)]
        self.now += 1
        for each in keys[:7] + keys[8:]:
            self.sessions.find(each)
        self.assertTrue(self.sessions.find(self.sessions.open()))
        self.assertEqual([keys[7]], [
            each for each in keys if not self.sessions.find(each)])

    def test_keys_are_not_guessed(self):
        keys = {self.sessions.open() for _ in range(20)}
        self.assertEqual(20, len(keys))
        self.assertGreaterEqual(min(map(len, keys)), 43)
        for each in (None, '', 'x', '\udcff'):
            self.assertIsNone(self.sessions.find(each))
