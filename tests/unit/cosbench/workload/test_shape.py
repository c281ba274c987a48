# SPDX-License-Identifier: Apache-2.0
"""The shape of a document: what is read, refused, ignored with a warning."""

import unittest
from glob import glob
from os.path import join

from cosbench.document.reader import read, read_file
from cosbench.errors import WorkloadError
from tests.unit.cosbench.documents import (
    NORMAL,
    PUBLISHED,
    READ,
    work,
    wrapped,
)
from tests.unit.cosbench.processes import ROOT

ETC = join(ROOT, 'etc', 'cosbench')
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


class TestShape(unittest.TestCase):

    def test_what_is_of_the_shape_is_read_without_a_warning(self):
        for text in ACCEPTED:
            self.assertEqual((), read(text.encode()).warnings)

    def test_what_is_not_is_refused_or_ignored_with_a_warning(self):
        for text in REFUSED:
            with self.assertRaises(WorkloadError, msg=text):
                read(text.encode())
        for text in WARNED:
            self.assertTrue(read(text.encode()).warnings, text)

    def test_the_samples_are_read_without_a_warning(self):
        paths = glob(join(ETC, '*.xml'))
        self.assertTrue(paths)
        for path in paths:
            self.assertEqual((), read_file(path).warnings, path)
