# SPDX-License-Identifier: Apache-2.0
"""What differs in two documents: each key, and no secret."""

import unittest

from cosbench.document.differences import Difference, differences
from tests.unit.cosbench.documents import operation, work, wrapped


def document(storage, config='containers=c(1);objects=u(1,8)', **more):
    return wrapped(work(operation(config, 'read'),
                        'workers="%(workers)s" runtime="5"' % {
                            'workers': 2, **more}),
                   above='<storage type="s3" config="%s"/>' % storage)


class TestDifferences(unittest.TestCase):

    def test_each_key_is_named_by_its_place(self):
        found = differences(
            document('endpoint=http://a;timeout=5'),
            document('timeout=6;endpoint=http://a;path_style_access=true',
                     'containers=c(1);objects=u(1,9)', workers=4))
        self.assertEqual({
            ('storage: timeout', '5', '6'), ('s/w: workers', '2', '4'),
            ('storage: path_style_access', '-', 'true'),
            ('s/w/read: objects', 'u(1,8)', 'u(1,9)')},
            {(each.place, each.first, each.second) for each in found})

    def test_a_secret_is_not_shown(self):
        self.assertEqual(
            [Difference('storage: secretkey', '(not shown)', '(not shown)'),
             Difference('storage: password', '-', '(not shown)')],
            differences(document('secretkey=abc'),
                        document('secretkey=def;password=x')))

    def test_order_and_blanks_are_no_difference(self):
        self.assertEqual([], differences(document('a=1;b=2'),
                                         document(' b = 2 ;a=1;')))
        self.assertEqual([], differences(document(''), '<workload'))
