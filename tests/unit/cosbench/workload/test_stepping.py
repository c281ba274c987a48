# SPDX-License-Identifier: Apache-2.0
"""A stage repeated with ever more workers; documents written again."""

import unittest

from cosbench.document.reader import parse, portable, read, text
from cosbench.errors import ConfigError
from cosbench.workload.elements import Element
from cosbench.workload.inheritance import Adaptors
from cosbench.workload.stepping import stepped
from tests.unit.cosbench.documents import (
    NORMAL,
    PUBLISHED,
    READ,
    work,
    wrapped,
)


def plain(element):
    return (element.tag, element.attributes,
            [plain(child) for child in element.children])


class TestWriter(unittest.TestCase):

    def test_what_is_written_reads_the_same(self):
        root = parse(PUBLISHED.encode())
        self.assertEqual(plain(root), plain(parse(text(root).encode())))

    def test_every_character_of_an_attribute_survives(self):
        value = '<a> & "b" \'c\' \t\r\n \u00e9\U0001f600 ]]>'
        root = Element('workload', {'name': value}, 1)
        self.assertEqual(value, parse(text(root).encode()).attributes[
            'name'])


class TestPortable(unittest.TestCase):

    def test_a_document_in_any_encoding_reads_the_same_as_utf8(self):
        for encoding, declared in (('iso-8859-1', 'ISO-8859-1'),
                                   ('utf-8', 'UTF-8'), ('utf-16', None)):
            head = '<?xml version="1.0" encoding="%s" ?>\n' % declared \
                if declared else ''
            data = (head + wrapped(NORMAL, workload='name="caf\u00e9"')
                    ).encode(encoding)
            found = portable(data).encode('utf8')
            self.assertEqual(read(data).workload, read(found).workload)
            self.assertEqual('caf\u00e9', read(found).workload.name)


class TestStepped(unittest.TestCase):

    def stepped(self, document, counts=(5, 10), stage=None):
        root, names = stepped(parse(document.encode()), counts, stage)
        return read(text(root).encode(), Adaptors(
            auth=('none', 'swauth'))).workload.stages, names

    def test_the_main_stage_is_repeated_in_its_place(self):
        stages, names = self.stepped(PUBLISHED)
        self.assertEqual(['write - 240t - 4MB-workers-5',
                          'write - 240t - 4MB-workers-10'], names)
        self.assertEqual(['init', 'prepare', 'delay', *names, 'cleanup',
                          'dispose'], [each.name for each in stages])
        self.assertEqual([[5, 5], [10, 10]], [
            [work.workers for work in each.works] for each in stages[3:5]])

    def test_it_must_be_clear_which_stage_is_meant(self):
        two = wrapped(NORMAL).replace(
            '</workflow>', '<workstage name="t">%s</workstage></workflow>'
            % NORMAL)
        for stage in (None, 'other', 'S'):
            with self.assertRaisesRegex(ConfigError, 'of s, t'):
                self.stepped(two, stage=stage)
        stages, _ = self.stepped(two, stage='t')
        self.assertEqual(['s', 't-workers-5', 't-workers-10'],
                         [each.name for each in stages])

    def test_a_work_without_a_type_is_normal(self):
        stages, _ = self.stepped(wrapped(work(
            READ, 'type="normal" workers="1" runtime="1"')))
        self.assertEqual([5, 10], [each.workers for each in stages])
