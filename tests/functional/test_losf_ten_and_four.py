# SPDX-License-Identifier: Apache-2.0
"""A policy of ten data and four parity fragments in volumes: real servers."""

from swiftclient.exceptions import ClientException

from tests.functional.fragments_case import with_cluster
from tests.functional.test_losf_fragments import VolumesCase
from tools.cluster import Policy

setUpModule, tearDownModule = with_cluster(
    Policy('ten', 1, 14, part_power=3, parity=4, kv=True), nodes=2, devices=7)


class TestTenAndFour(VolumesCase):
    """An object has a fragment on each of fourteen devices."""

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
