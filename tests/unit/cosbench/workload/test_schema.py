# SPDX-License-Identifier: Apache-2.0
"""schema.xsd and the reader say the same of a document's shape."""

import re
import unittest
from glob import glob
from os.path import join

from lxml import etree

from cosbench.document.reader import SCHEMA, escaped, read
from cosbench.errors import WorkloadError
from cosbench.workload.elements import KNOWN
from cosbench.workload.model import OperationType, WorkType
from tests.unit.cosbench.documents import (
    NORMAL,
    PUBLISHED,
    READ,
    work,
    wrapped,
)
from tests.unit.cosbench.processes import ROOT

ETC = join(ROOT, 'etc', 'cosbench')
XS = '{http://www.w3.org/2001/XMLSchema}'
TREE = etree.parse(SCHEMA)
VALIDATOR = etree.XMLSchema(TREE)
RUN = 'workers="1" runtime="1" '

ACCEPTED = (
    PUBLISHED, wrapped(NORMAL, NORMAL),
    wrapped(NORMAL, above='<storage type="mock"/><auth type="none"/>'),
    wrapped(NORMAL.replace('<op', '<auth type="mock" config=""/><op')),
    wrapped(work(READ, RUN + 'division="object" afr="1000000" interval="1" '
                 'rampup="1" rampdown="2" totalOps="3" totalBytes="%d" '
                 'driver="d" config="rate=5"' % (2 ** 63 - 1))),
)
#: Each is wrong in one thing.
REFUSED = tuple(wrapped(*works, **around) for works, around in (
    [((work(READ, attributes),), {}) for attributes in (
        'workers="0" runtime="1"', 'workers="x" runtime="1"',
        RUN + 'interval="0"', RUN + 'rampup="-1"', RUN + 'rampdown="1.5"',
        RUN + 'afr="1000001"', RUN + 'totalOps="1000000001"',
        RUN + 'totalBytes="9223372036854775808"', RUN + 'division="half"',
        RUN + 'type="warmup"')]
    + [((work(READ.replace('/>', '%s/>' % attributes)),), {})
       for attributes in (' ratio="101"', ' ratio="-1"', ' division=""',
                          ' id=""')]
    + [((NORMAL.replace('type="read"', kind),), {})
       for kind in ('', 'type=""', 'type="attach"')]
    + [((), {}), ((NORMAL,), {'stage': ''}), ((NORMAL,), {'workload': ''}),
       ((NORMAL,), {'stage': 'name="a;b"'}),
       ((NORMAL,), {'stage': 'name="s" closuredelay="-1"'}),
       ((NORMAL,), {'workload': 'name="a/b"'}),
       ((NORMAL,), {'above': '<auth/>'}),
       ((NORMAL,), {'above': '<auth type="mock"/>' * 2})])) + (
    '<workload name="n"/>', '<workload name="n"><workflow/></workload>',
    '<workflow/>')
#: The reader ignores a thing, and says so.
WARNED = (
    wrapped(work(READ, RUN + 'totalops="3"')),
    wrapped(NORMAL, above='<note/>'),
    wrapped(NORMAL, workload='name="n" lang="en"'),
    wrapped(NORMAL.replace('</work>', '<work/></work>')),
)


def is_valid(text):
    """:param text: a document
    :returns: whether the schema takes it
    """
    document = etree.fromstring(escaped(re.sub(r'^<\?.*?\?>', '', text)))
    return VALIDATOR.validate(document)


class TestSchema(unittest.TestCase):

    def test_what_is_read_without_a_warning_is_valid(self):
        for text in ACCEPTED:
            self.assertEqual((), read(text.encode()).warnings)
            self.assertTrue(is_valid(text), VALIDATOR.error_log)

    def test_what_is_refused_is_not_valid(self):
        for text in REFUSED:
            self.assertFalse(is_valid(text), text)
            with self.assertRaises(WorkloadError):
                read(text.encode())

    def test_what_is_ignored_is_not_valid(self):
        for text in WARNED:
            self.assertFalse(is_valid(text), text)
            self.assertTrue(read(text.encode()).warnings, text)

    def test_the_samples_are_valid_and_read_without_a_warning(self):
        paths = glob(join(ETC, '*.xml'))
        self.assertTrue(paths)
        for path in paths:
            with open(path, encoding='utf8') as source:
                text = source.read()
            self.assertTrue(is_valid(text), path)
            self.assertEqual((), read(text.encode()).warnings, path)

    def test_it_has_the_elements_and_attributes_that_are_read(self):
        types = {kind.get('name'): kind
                 for kind in TREE.iter(XS + 'complexType')}
        for tag, (attributes, children) in KNOWN.items():
            element = next(each for each in TREE.iter(XS + 'element')
                           if each.get('name') == tag)
            kind = types.get(element.get('type'), element)
            self.assertEqual(set(attributes.split()), {
                each.get('name') for each in kind.iter(XS + 'attribute')})
            self.assertEqual(set(children.split()), {
                each.get('name') for each in kind.iter(XS + 'element')
                if each is not element})

    def test_it_has_the_types_that_are_read(self):
        for name, kinds in (('workType', WorkType),
                            ('operationType', OperationType)):
            found = TREE.xpath(
                '//xs:simpleType[@name=$name]//xs:enumeration/@value',
                namespaces={'xs': XS[1:-1]}, name=name)
            self.assertEqual({kind.value for kind in kinds}, set(found))
