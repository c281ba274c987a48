# SPDX-License-Identifier: Apache-2.0
"""The shape of a document: what is read without a warning."""

import unittest
from glob import glob
from os.path import join

from cosbench.document.reader import read, read_file
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


class TestShape(unittest.TestCase):

    def test_what_is_of_the_shape_is_read_without_a_warning(self):
        for text in ACCEPTED:
            self.assertEqual((), read(text.encode()).warnings)

    def test_the_samples_are_read_without_a_warning(self):
        paths = glob(join(ETC, '*.xml'))
        self.assertTrue(paths)
        for path in paths:
            self.assertEqual((), read_file(path).warnings, path)
