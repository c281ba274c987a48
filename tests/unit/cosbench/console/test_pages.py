# SPDX-License-Identifier: Apache-2.0
"""What pages show, and that no text in them becomes markup."""

import json
import os
import re
from html.parser import HTMLParser

from cosbench.document.reader import MAX_BYTES
from tests.unit.cosbench import results
from tests.unit.cosbench.console.sites import EVIL, SHORT, SiteCase, evil

BAD = SHORT.replace('workers="1"', 'workers="x"')


class _Outline(HTMLParser):
    """Elements, labels and headings of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.labels, self.controls = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if 'id' in attributes:
            self.ids.append(attributes['id'])
        if tag == 'label':
            self.labels.append(attributes['for'])
        if tag in ('select', 'textarea') or (
                tag == 'input' and attributes.get('type') != 'hidden'):
            self.controls.append(attributes)
        if tag == 'th' and 'scope' not in attributes:
            raise AssertionError('a heading without scope')


class PagesCase(SiteCase):

    async def asyncSetUp(self):
        await super().asyncSetUp()
        await self.login()

    async def page(self, path, expected=200):
        status, text, _ = await self.ask('GET', path)
        self.assertEqual(expected, status, text)
        return text


class TestEscaping(PagesCase):

    async def test_text_of_archives_stays_text(self):
        await self.finished(evil(), evil())
        for path in ('/history', '/workloads/w1', '/workloads/w1/report',
                     '/submit?from=w1', '/compare?id=w1&id=w2',
                     '/compare?id=w1'):
            text = await self.page(path)
            for tag in ('<script>', '<img'):
                self.assertNotIn(tag, text, path)
            self.assertIn('&lt;script&gt;', text, path)
            self.assertEqual(text.count('<textarea'),
                             text.count('</textarea>'))

    async def test_text_of_requests_stays_text(self):
        for path in ('/history?name=', '/compare?id=a&id=', '/compare?id=',
                     '/workloads/', '/submit?from=', '/history?page='):
            status, text, _ = await self.ask('GET', path + EVIL.replace(
                '/', '%2F'))
            self.assertIn(status, (200, 400, 404), path)
            self.assertNotIn('<script>', text, path)
        for seed in ('', EVIL):
            _, text, _ = await self.submit(
                '<a b="</textarea>%s"/>' % EVIL, seed=seed,
                name='<script>.xml')
            self.assertNotIn('<script>', text)
            self.assertEqual(1, text.count('</textarea>'))
            self.assertIn('&lt;script&gt;.xml' + ('' if seed else ':1:'),
                          text)

    async def test_files_are_saved_and_nothing_is_sniffed(self):
        await self.finished(evil())
        _, text, fields = await self.ask('GET', '/v1/workloads/w1/files')
        self.assertEqual(('application/json', 'nosniff'), (
            fields['Content-Type'], fields['X-Content-Type-Options']))
        names = re.findall('"name": "([^"]*)"', text)
        self.assertIn('report.html', names)
        for name in os.listdir(self.archive.path('w1')):
            status, _, fields = await self.ask(
                'GET', '/v1/workloads/w1/files/' + name.replace('%', '%25'))
            if name.startswith('.'):
                self.assertEqual(404, status, name)
                continue
            self.assertEqual((200, 'attachment'), (
                status, fields['Content-Disposition']), name)


class TestPaths(PagesCase):

    async def test_no_name_leads_out(self):
        await self.finished(results.tiny())
        with open(os.path.join(self.directory, 'secret'), 'w') as stream:
            stream.write('kept')
        for name in ('../secret', '..', '.', '..%2fsecret', '..%5csecret',
                     '%2e%2e%2fsecret', '%2e%2e/%2e%2e/secret', 'w1%2f..',
                     '%2fetc%2fpasswd', '//secret', 'w1%00', 'w01', 'W1',
                     'secret', '-', '%ff', 'w9', '.reported', '-1',
                     '%2e%2e%2f%2e%2e%2fsecret', 'result.json%00',
                     'w1%2f..%2f..'):
            for path in ('/workloads/%s', '/workloads/%s/report',
                         '/submit?from=%s', '/compare?id=w1&id=%s',
                         '/static/%s', '/v1/workloads/%s/files',
                         '/v1/workloads/w1/files/%s'):
                status, text = await self.ask_literally(path % name)
                self.assertEqual(404, status, path % name)
                self.assertNotIn('kept', text)
        for path, status in (('/workloads/w1/report', 200),
                             ('/v1/workloads/w1/files/', 404)):
            self.assertEqual(status, (await self.ask_literally(path))[0])

    async def test_a_run_that_is_damaged_is_no_page_of_its_path(self):
        await self.finished(results.tiny())
        with open(os.path.join(self.archive.path('w1'), 'run.json'),
                  'ab') as stream:
            stream.write(b'x')
        for path in ('/workloads/w1/report', '/submit?from=w1'):
            text = await self.page(path, 500)
            self.assertIn('w1 cannot be read', text)
            self.assertNotIn(self.directory, text)


class TestSubmit(PagesCase):

    async def test_a_text_is_queued_with_its_seed(self):
        status, _, fields = await self.submit(
            SHORT.replace('\n', '\r\n'), seed=' 7 ')
        self.assertEqual((303, '/workloads/w1'),
                         (status, fields['Location']))
        document = self.controller.document('w1')
        self.assertEqual((7, SHORT), (document['seed'], document['xml']))
        self.assertIn('Cancel w1?', await self.page('/workloads/w1'))
        # It is edited with its seed.
        text = await self.page('/submit?from=w1')
        self.assertIn('totalOps=&quot;1&quot;', text)
        self.assertIn('value="7"', text)

    async def test_a_file_goes_before_the_text(self):
        status, _, _ = await self.submit(SHORT, name='a.xml')
        self.assertEqual(303, status)
        status, text, _ = await self.submit(BAD, name='b.xml')
        self.assertEqual(400, status)
        self.assertIn('b.xml:4:</a> workers=', text)
        self.assertEqual(['w1'], self.controller.ids)

    async def test_a_refusal_says_where_and_keeps_the_text(self):
        for do, expected in (('submit', 400), ('validate', 200)):
            status, text, _ = await self.submit(BAD, do=do, seed='5')
            self.assertEqual(expected, status)
            self.assertIn('workload.xml:4:</a> workers=&#x27;x&#x27;: must '
                          'be an integer', text)
            self.assertIn('role="alert"', text)
            self.assertIn('workers=&quot;x&quot;', text)
            self.assertIn('value="5"', text)
        self.assertEqual([], self.controller.ids)

    async def test_a_validation_queues_nothing(self):
        status, text, _ = await self.submit(SHORT, do='validate')
        self.assertEqual(200, status)
        self.assertRegex(text, '<p>workload.xml is a workload: n: 1 stages, '
                         '1 works[^<]*storage mock</p></div>')
        _, text, _ = await self.submit(SHORT.replace(
            'totalOps="1"', 'totalOps="1" colour="x"'), do='validate')
        self.assertIn('is a workload', text)
        self.assertIn('workload.xml:4:</a> ', text)
        self.assertEqual([], self.controller.ids)

    async def test_a_text_was_decoded_and_a_file_is_as_it_declares(self):
        text = '<?xml version="1.0" encoding="%s"?>' + SHORT.replace(
            'name="n"', 'name="caf\u00e9"')
        for encoding in ('UTF-8', 'ISO-8859-1', 'US-ASCII', 'utf-16'):
            declared = text % encoding
            await self.submit(declared)
            self.assertEqual('caf\u00e9', self.controller.entry(
                self.controller.ids[-1]).document['name'], encoding)
        _, shown, _ = await self.submit(declared, do='validate')
        self.assertIn('encoding=&quot;utf-16&quot;', shown)
        # A file is decoded as it declares.
        await self.submit((text % 'iso-8859-1').encode('latin-1'),
                          name='a.xml')
        self.assertEqual('caf\u00e9', self.controller.entry(
            self.controller.ids[-1]).document['name'])

    async def test_a_seed_is_a_number(self):
        for do in ('submit', 'validate'):
            _, text, _ = await self.submit(SHORT, do=do, seed='-1')
            self.assertIn('seed=&#x27;-1&#x27;: must be', text)
        self.assertEqual([], self.controller.ids)

    async def test_what_is_too_large_or_no_text_is_refused(self):
        for name in (None, 'a.xml'):
            status, _, _ = await self.submit(' ' * (MAX_BYTES + 1),
                                             name=name)
            self.assertEqual(413, status)
        for data in (b'\xff\xfe', b'\x00' * 100, b'<a \xff/>', b''):
            status, _, _ = await self.submit(data, name='a.xml')
            self.assertEqual(400, status)
        self.assertEqual([], self.controller.ids)

    async def test_the_interface_refuses_the_same(self):
        status, text, _ = await self.api('POST', '/v1/workloads', data=BAD)
        self.assertEqual((400, 4), (
            status, json.loads(text)['problems'][0]['line']))
        for path, body, expected in (
                ('', b'', 400), ('', b'<a', 400),
                ('', b' ' * (MAX_BYTES + 1), 413),
                ('?seed=-1', SHORT.encode(), 400)):
            self.assertEqual(expected, (await self.api(
                'POST', '/v1/workloads' + path, data=body))[0], body[:9])
        self.assertEqual([], self.controller.ids)


class TestHistory(PagesCase):

    async def test_it_has_what_has_ended_newest_first(self):
        await self.finished(results.tiny(), {**results.tiny(),
                                             'state': 'failed'})
        await self.submit(SHORT)
        text = await self.page('/history')
        self.assertEqual(['w2', 'w1'], re.findall(
            'href="/workloads/(w[0-9]+)"', text))
        text = await self.page('/history?state=failed&name=SMA')
        self.assertEqual(['w2'], re.findall(
            'href="/workloads/(w[0-9]+)"', text))
        self.assertIn('There is none', await self.page('/history?name=no'))
        self.assertIn('page=&#x27;0&#x27;: must be',
                      await self.page('/history?page=0', 400))

    async def test_it_has_pages(self):
        await self.finished(*(results.document([]) for _ in range(51)))
        text = await self.page('/history?name=small')
        self.assertIn('href="/workloads/w2"', text)
        self.assertNotIn('href="/workloads/w1"', text)
        self.assertIn('href="/history?name=small&amp;state=&amp;page=2"',
                      text)
        self.assertIn('href="/workloads/w1"',
                      await self.page('/history?page=2'))


class TestComparison(PagesCase):

    async def test_two_runs_are_compared(self):
        await self.finished(results.generated(1),
                            results.generated(2, mean_ms=20.0))
        text = await self.page('/compare?id=w1&id=w2')
        self.assertRegex(text, '<h1>Compare w2 with w1</h1>')
        self.assertIn('worse', text)
        self.assertIn('<svg', text)

    async def test_two_it_must_be(self):
        await self.finished(results.tiny())
        await self.page('/compare')
        await self.page('/compare?id=w1')
        self.assertIn('choose two runs', await self.page(
            '/compare?id=w1&id=w1&id=w1', 400))
        self.assertIn('no such workload', await self.page(
            '/compare?id=w1&id=w7', 404))


class TestAccess(PagesCase):

    async def test_all_that_one_fills_in_has_a_label(self):
        await self.finished(results.tiny())
        for path in ('/', '/history', '/submit', '/compare',
                     '/workloads/w1', '/workloads/w1/report', '/login'):
            found = _Outline(await self.page(path))
            for each in found.controls:
                self.assertTrue(each.get('id') in found.labels
                                or each.get('aria-label'), (path, each))
            self.assertEqual(len(found.ids), len(set(found.ids)), path)
            self.assertEqual(1, found.tags.count('h1'), path)
            self.assertEqual(1, found.tags.count('main'), path)
            self.assertIn('header', found.tags)
        # The page that one is on is marked.
        self.assertIn('<a href="/history" aria-current="page">',
                      await self.page('/history'))
