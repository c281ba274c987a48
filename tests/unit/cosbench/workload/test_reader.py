# SPDX-License-Identifier: Apache-2.0
"""reader: bytes that are a document, and bytes that are an attack."""

import codecs
import time
import unittest

from hypothesis import given
from hypothesis import strategies as st

from cosbench.document.reader import MAX_BYTES, MAX_DEPTH, escaped, parse, read
from cosbench.errors import WorkloadError
from tests.unit.cosbench.documents import (
    NORMAL,
    PUBLISHED,
    READ,
    operation,
    refusals_of,
    work,
    wrapped,
)

PLAIN = wrapped(NORMAL)


class TestAttacks(unittest.TestCase):

    def test_a_document_type_is_refused_before_anything_of_it_is_read(self):
        for text in (
                '<!DOCTYPE workload [<!ENTITY e SYSTEM "file:///etc/passwd">'
                ']>\n<workload name="&e;"/>',
                '<!DOCTYPE workload SYSTEM "http://127.0.0.1:9/x.dtd">'
                '<workload/>',
                '<!DOCTYPE workload [<!ENTITY % p SYSTEM "x"> %p;]>'
                '<workload/>',
                '<!DOCTYPE workload>' + PLAIN):
            self.assertEqual(
                ['2: a document type declaration (DOCTYPE) is not allowed'],
                refusals_of('\n' + text))

    def test_an_entity_bomb_costs_nothing(self):
        bomb = '<!DOCTYPE b [<!ENTITY a0 "%s">%s]><b>&a30;</b>' % (
            'x' * 1000, ''.join('<!ENTITY a%d "%s">' % (
                n, '&a%d;' % (n - 1) * 10) for n in range(1, 31)))
        begin = time.process_time()
        self.assertIn('DOCTYPE', refusals_of(bomb)[0])
        self.assertLess(time.process_time() - begin, 1)

    def test_an_inclusion_is_an_element_like_any_other(self):
        text = wrapped(NORMAL, above='<x:include xmlns:x="http://www.w3.org/'
                       '2001/XInclude" href="/etc/passwd"/>')
        self.assertNotIn('root:', repr(read(text.encode())))

    def test_a_document_that_is_too_large_is_refused(self):
        fits = PLAIN + ' ' * (MAX_BYTES - len(PLAIN))
        self.assertEqual([], refusals_of(fits))
        self.assertEqual(['1: the document is larger than %d bytes'
                          % MAX_BYTES], refusals_of(fits + ' '))

    def test_elements_in_each_other_without_end_are_refused(self):
        found, = refusals_of('<a>' * 50000 + '</a>' * 50000)
        self.assertEqual('1: more than %d elements in each other'
                         % MAX_DEPTH, found)

    def test_reading_takes_linear_time_for_the_worst(self):
        for worst in ('<a "', '<a \'"\' ', '<!--', '"<', '<a b="', '<?',
                      '<a b="<">', '<![CDATA['):
            data = (worst * (MAX_BYTES // len(worst))).encode()
            begin = time.process_time()
            self.assertTrue(refusals_of(data))
            self.assertLess(time.process_time() - begin, 5, worst)

    def test_a_name_that_leads_out_of_a_directory_is_refused(self):
        for name in ('../x', 'a/b', '..', '.', '\\x', 'a\\..', '/etc',
                     'x&#10;y', 'x&#133;y', '', 'x' * 129):
            for text in (wrapped(NORMAL, workload='name="%s"' % name),
                         wrapped(NORMAL, stage='name="%s"' % name),
                         wrapped(NORMAL.replace('"w"', '"%s"' % name)),
                         wrapped(work(READ.replace(
                             '<operation', '<operation id="%s"' % name))),
                         wrapped(work(READ, 'workers="1" runtime="1" '
                                      'driver="%s"' % (name or '/')))):
                found, = refusals_of(text)
                self.assertRegex(found, '(name|id|driver)=.*must be')
        self.assertIn('must be a name without', refusals_of(
            wrapped(NORMAL, stage='name="a;b"'))[0])

    def test_names_in_the_storage_lead_nowhere_else(self):
        target = 'containers=c(1);objects=c(1);sizes=c(1)KB;'
        for config in ('cprefix=../a', 'cprefix=a/', 'csuffix=/..',
                       'oprefix=../', 'oprefix=a/../b', 'oprefix=./',
                       'osuffix=/..', 'osuffix=/../x', 'oprefix=a&#9;b',
                       'cprefix=' + 'c' * 256, 'oprefix=' + 'o' * 1024,
                       'name=a/b'):
            found, = refusals_of(wrapped(work(operation(target + config))))
            self.assertRegex(found, '(containers|objects|name)=.*must be')

    def test_files_and_scripts_lead_nowhere_else(self):
        for files in ('..', '/srv/../etc', '../x', ''):
            found, = refusals_of(wrapped(work(operation(
                'containers=c(1);fileselection=u;files=' + files,
                'filewrite'))))
            self.assertRegex(found, 'files=.*must be')
        for trigger in ('/bin/sh(x)', '../x.sh()', 'a b(c)', '..', 'x.sh(',
                        'a;b', '$(x)', 'x.sh(a)b'):
            found, = refusals_of(wrapped(
                NORMAL, stage='name="s" trigger="%s"' % trigger))
            self.assertRegex(found, 'trigger=.*must be script')


class TestBytes(unittest.TestCase):

    def test_the_encodings_of_old_files_are_read(self):
        text = wrapped(NORMAL, workload='name="\u00e9t\u00e9"')
        for data in (
                text.encode(), codecs.BOM_UTF8 + text.encode(),
                text.encode('utf-16'),
                b'<?xml version="1.0" encoding="ISO-8859-1"?>'
                + text.encode('latin-1'),
                ('<?xml version="1.0" encoding="UTF-16"?>' + text)
                .encode('utf-16')):
            self.assertEqual('\u00e9t\u00e9', read(data).workload.name)

    def test_other_encodings_are_refused(self):
        self.assertEqual(['3: this is not utf-8'],
                         refusals_of(b'<workload>\n\n\xff</workload>'))
        self.assertIn('encoding utf-7: must be one of utf-8', refusals_of(
            '<?xml version="1.0" encoding="UTF-7"?><workload/>')[0])

    def test_what_is_not_well_formed_is_refused_with_the_line(self):
        self.assertEqual(
            ['1: not well-formed XML: undefined entity'],
            refusals_of('<workload name="&e;"/>'))
        for text in ('', 'workload', '<workload>', '\n<a></b>', '<a b=c/>',
                     '<a b="1" b="2"/>', '<a/><a/>', '<a b="&"/>',
                     '<a b="</>', '<a <b="c"/>', '\x00<a/>'):
            found, = refusals_of(text)
            self.assertRegex(found, r'^\d+: not well-formed XML: ')

    @given(st.binary(max_size=200))
    def test_any_bytes_are_a_workload_or_refused(self, data):
        self.assertTrue(refusals_of(data))

    @given(st.integers(0, len(PUBLISHED) - 1), st.text(max_size=3))
    def test_a_damaged_document_is_a_workload_or_refused(self, place, text):
        damaged = PUBLISHED[:place] + text + PUBLISHED[place + 1:]
        try:
            read(damaged.encode('utf8', 'surrogatepass'))
        except WorkloadError as err:
            self.assertLessEqual(1, err.problems[0].line)


class TestPlaceholders(unittest.TestCase):

    def test_only_what_is_quoted_in_a_tag_is_written_otherwise(self):
        for text, expected in (
                ('<a b="<c>"/>', '<a b="&lt;c>"/>'),
                ("<a b='<\"<' c='<'/>", "<a b='&lt;\"&lt;' c='&lt;'/>"),
                ('<a b="</c>"\n><d e="<"/></a>',
                 '<a b="&lt;/c>"\n><d e="&lt;"/></a>')):
            self.assertEqual(expected, escaped(text))
        for text in ('<!-- "<a b="<"> --><a/>', '<![CDATA["<"]]>',
                     '<?p "<" ?>', '<a>"<b/>"</a>', 'a "<" b', '<a "x<',
                     '<!--><a b="<"/>-->'):
            self.assertEqual(text, escaped(text))

    @given(st.text('<>"\'ab=/ !-?[]\n', max_size=60))
    def test_lines_stay_lines(self, text):
        found = escaped(text)
        self.assertEqual(text.replace('<', '').count('\n'),
                         found.count('\n'))
        self.assertEqual(text, found.replace('&lt;', '<'))

    def test_an_element_has_the_line_on_which_it_begins(self):
        root = parse(b'<a\n b="<\n>">\n<c\n/></a>')
        self.assertEqual([1, 4], [root.line, root.children[0].line])
        self.assertEqual({'b': '< >'}, root.attributes)
