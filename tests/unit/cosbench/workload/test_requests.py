# SPDX-License-Identifier: Apache-2.0
"""requests: what operations ask for beyond one whole object."""

import unittest

from cosbench.workload.model import OperationType
from cosbench.workload.requests import Large, Parts, Version
from tests.unit.cosbench.documents import (
    operation,
    refusals_of,
    work,
    works_of,
    wrapped,
)

TARGET = 'containers=c(1);objects=r(1,9);'


def one(kind, config):
    found, = works_of(work(operation(TARGET + config, kind)))
    return found.operations[0]


class TestRequests(unittest.TestCase):

    def test_a_read_may_be_of_a_range_a_part_or_a_version(self):
        found = one('read', 'offset=u(1,9)KB;length=c(7)B').piece
        self.assertEqual((1000, 7, None), (
            found.offset.least, found.length.least, found.part))
        self.assertEqual(3, one('read', 'part=c(3)').piece.part.least)
        for kind in ('read', 'head', 'delete'):
            self.assertEqual((Version.RANDOM, None), (
                one(kind, 'version=random').version,
                one(kind, 'hashCheck=true').version))
        self.assertIsNone(one('read', 'hashCheck=true').piece)

    def test_a_write_may_go_in_parts(self):
        self.assertEqual(Parts(8 * 2 ** 20, 4, Large.DLO), one(
            'write', 'sizes=c(1)GB;partSize=c(8)MiB;parallel=4;large=dlo'
        ).parts)
        self.assertEqual(Parts(1000), one(
            'write', 'sizes=c(1)B;partSize=c(1)KB').parts)
        self.assertIsNone(one('write', 'sizes=c(1)B').parts)

    def test_the_others_have_their_fields(self):
        found = one('append', 'sizes=c(1)KB;upTo=c(9)KB')
        self.assertEqual((OperationType.APPEND, 9000),
                         (found.type, found.limit))
        self.assertEqual(7, one('bulkdelete', 'batch=7').batch)
        self.assertTrue(one('list', 'versions=true').versions)
        self.assertTrue(one('delete', 'withParts=true').with_parts)
        self.assertEqual((('x-object-meta-a', 'b'),), one(
            'post', 'header.X-Object-Meta-A=b').object_headers)

    def test_what_does_not_fit_is_refused(self):
        for kind, config, words in (
                ('read', 'offset=c(1)B', "offset='c(1)B': must be together"),
                ('read', 'length=c(0)B', 'length='),
                ('read', 'part=c(0)', 'numbers from 1 on'),
                ('read', 'part=c(1);length=c(1)B', 'without length'),
                ('read', 'part=c(1);hashCheck=true', 'without hashCheck'),
                ('read', 'version=first', "version='first': must be one of "
                 'oldest, latest, random'),
                ('read', 'header.Range=bytes=0-1', 'header.range='),
                ('write', 'sizes=c(1)B;parallel=2',
                 'must be together with partSize'),
                ('write', 'sizes=c(1)B;partSize=u(1,2)B', 'partSize='),
                ('write', 'sizes=c(1)B;partSize=c(0)B', 'partSize='),
                ('write', 'sizes=c(1)GB;partSize=c(1)KB',
                 'at most 10000 parts'),
                ('write', 'sizes=c(1)GB;partSize=c(1)MB;hashCheck=true',
                 'without hashCheck and chunked'),
                ('write', 'sizes=c(1)B;partSize=c(1)B;oprefix=' + 'x' * 1000,
                 'with partSize'),
                ('bulkdelete', 'batch=1001', 'batch='),
                ('post', '', 'header.NAME=VALUE is missing'),
                ('append', '', 'sizes is missing')):
            found, = refusals_of(wrapped(work(operation(
                TARGET + config, kind))))
            self.assertIn(words, found)

    def test_endpoints_are_different_servers(self):
        for text in ('', ' ', 'http://a,http://a', 'a:80', 'ftp://a',
                     'http://a/path', 'http://u@a',
                     ','.join('http://a%d' % each for each in range(33))):
            found, = refusals_of(wrapped(work(), above='<storage type="s3" '
                                 'config="endpoints=%s"/>' % text))
            self.assertIn("1: endpoints='", found)
        found, = refusals_of(wrapped(work(), above='<storage type="s3" '
                             'config="endpoints=http://a;endpoint=http://b"/>'))
        self.assertIn("endpoint='http://b': must be without endpoints", found)
