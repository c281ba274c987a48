# SPDX-License-Identifier: Apache-2.0
"""headers: those that containers are created with, and those refused."""

import unittest

from cosbench.workload.headers import OWN
from tests.unit.cosbench.documents import refusals_of, works_of, wrapped

INIT = '<work type="init" workers="1" config="containers=r(1,2);%s"/>'


def headers_of(config, kind='init', **around):
    found, = works_of(
        '<work type="%s" workers="1" config="containers=r(1,2);'
        'objects=c(1);sizes=c(1)B;%s"/>' % (kind, config), **around)
    return found.operations[0].headers


class TestHeaders(unittest.TestCase):

    def test_a_work_that_creates_containers_has_those_of_its_config(self):
        config = 'cheader.X-Versions-Enabled=true;CHeader.X-A=b = c, ä'
        for kind in ('init', 'prepare'):
            self.assertEqual(
                (('x-a', 'b = c, ä'), ('x-versions-enabled', 'true')),
                headers_of(config, kind))
        for kind in ('dispose', 'cleanup'):
            self.assertEqual((), headers_of('cheader.X-A=b', kind))

    def test_the_nearest_wins(self):
        above = 'name="n" config="cheader.x-a=far;cheader.X-B=far"'
        self.assertEqual((('x-a', 'near'), ('x-b', 'far')), headers_of(
            'cheader.X-A=near', workload=above))

    def test_what_no_header_can_be_is_refused_with_its_line(self):
        for config, key in (
                ('cheader.X-A=b&#13;&#10;X-Evil: c', 'cheader.x-a'),
                ('cheader.X-A=b&#10;c', 'cheader.x-a'),
                ('cheader.X-A=b&#9;c', 'cheader.x-a'),
                ('cheader.X&#13;&#10;Y=b', r'cheader.x\r\ny'),
                ('cheader.X A=b', 'cheader.x a'),
                ('cheader.X:=b', 'cheader.x:'),
                ('cheader.ä=b', 'cheader.ä'),
                ('cheader.=b', 'cheader.')):
            with self.subTest(config):
                found, = refusals_of(wrapped(INIT % '', INIT % config))
                self.assertTrue(found.startswith('5: %s=' % key), found)
                self.assertIn('must be', found)

    def test_those_of_the_adaptors_are_refused(self):
        for name in OWN:
            found, = refusals_of(wrapped(INIT % 'cheader.%s=x'
                                         % name.title()))
            self.assertIn('4: cheader.%s=' % name, found)
