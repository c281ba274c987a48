# SPDX-License-Identifier: Apache-2.0
"""Swift's container_quotas on the left of the filter."""

from swift.common.middleware.container_quotas import ContainerQuotaMiddleware
from swift.common.swob import HTTPForbidden

from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_both_modes


@of_both_modes
class TestQuota(ObjectCase):

    def setUp(self):
        super().setUp()
        self.ask.filter = ContainerQuotaMiddleware(self.ask.filter)
        self.ask('POST', 'c', {'X-Container-Meta-Quota-Bytes': '10'})

    def put(self, body, **more):
        return self.status('PUT', body=body, **more)

    def test_all_versions_count(self):
        self.assertEqual(201, self.put('four'))
        self.assertEqual(201, self.put('4444'))
        self.assertEqual(413, self.put('abc'))
        self.assertEqual(201, self.put('ab'))
        self.assertEqual(b'ab', self.body())

    def test_what_was_there_before_counts_too(self):
        self.ask('PUT', 'c2', {'X-Container-Meta-Quota-Bytes': '10'})
        self.ask('PUT', 'c2/before', body='12345')
        self.ask('POST', 'c2', {'X-Versions-Enabled': 'true'})
        self.assertEqual(201, self.put('12345', path='c2/o'))
        self.assertEqual(413, self.put('1', path='c2/o'))

    def test_a_purge_makes_room(self):
        version = self.ask.put('o', '12345678')
        self.assertEqual(413, self.put('four'))
        self.ask('DELETE', 'c/o')
        self.assertEqual(413, self.put('four'))
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual(201, self.put('four'))

    def test_who_may_not_write_is_not_told_of_it(self):
        self.put('12345678')
        self.assertEqual(403, self.put('four', environ={
            'swift.authorize': lambda req: HTTPForbidden(request=req)}))

    def test_objects_are_counted_with_those_from_before(self):
        if self.mode == 'read-repair':
            self.skipTest('there each version would count')
        self.ask('POST', 'c', {'X-Container-Meta-Quota-Bytes': '',
                               'X-Container-Meta-Quota-Count': '2'})
        self.ask.put_old('old')
        self.assertEqual(201, self.put('1'))
        self.assertEqual(413, self.put('1', path='c/another'))
        self.ask('DELETE', 'c/o')
        self.assertEqual(201, self.put('1', path='c/another'))
