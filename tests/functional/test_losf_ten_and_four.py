# SPDX-License-Identifier: Apache-2.0
"""A policy of ten data and four parity fragments in volumes: real servers."""

from contextlib import ExitStack

from swiftclient.exceptions import ClientException

from tests.functional.clusters import R3, object_servers
from tests.functional.test_losf_fragments import OPTIONS, FragmentsCase
from tools.cluster import ClusterSpec, Policy

TEN = Policy('ten', 1, 14, part_power=3, parity=4, kv=True)
_at_end = ExitStack()
_cluster = None


def setUpModule():
    global _cluster
    _cluster = _at_end.enter_context(object_servers(
        nodes=2, devices=7, policies=(R3, TEN),
        services=ClusterSpec.services, options=OPTIONS))


def tearDownModule():
    _at_end.close()


class TestTenAndFour(FragmentsCase):
    """An object has a fragment on each of fourteen devices."""

    policy = TEN

    @staticmethod
    def running():
        return _cluster

    def put_some(self):
        self.put(3, 40_000)
        # Of several segments.
        self.put(1, 3 * 2 ** 20 + 17)
        self.wait_for_all()
        self.assert_readable()

    def test_any_ten_fragments_are_the_object_and_four_are_rebuilt(self):
        self.put_some()
        self.lose_fragments(4)
        self.assert_readable()
        self.assert_put_right()

    def test_nine_fragments_are_not_the_object(self):
        self.put_some()
        self.lose_fragments(5)
        for name in self.bodies:
            with self.assertRaises(ClientException) as caught:
                self.client.get_object(self.container, name)
            self.assertIn(caught.exception.http_status, (404, 503))
