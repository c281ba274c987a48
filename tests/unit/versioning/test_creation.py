# SPDX-License-Identifier: Apache-2.0
"""A container is never seen without the metadata that it was made with."""

from unittest import mock

from swift.container.backend import ContainerBroker

from swift_lightsync.versioning.data.container_headers import MODE, sysmeta
from tests.unit.versioning.test_verb_server import VerbCase

MODES = {sysmeta(MODE): 'write-repair'}


def at(number):
    return {'X-Timestamp': '%010d.00000' % (1700000000 + number)}


class TestCreation(VerbCase):

    def put(self, number, **headers):
        """Make the container; return what is seen of it in all steps."""
        seen = []

        def looking(step):
            def looked(*args, **kwargs):
                done = step(*args, **kwargs)
                seen.append(self.mode())
                return done
            return looked

        with mock.patch.multiple(ContainerBroker, **{
                name: looking(getattr(ContainerBroker, name)) for name in (
                    'initialize', 'update_put_timestamp', 'update_metadata',
                    'set_storage_policy_index')}):
            self.status = self.ask('PUT', 'c', **at(number), **headers
                                   ).status_int
        return seen

    def mode(self):
        """Return the mode that a proxy is told of; None of no container."""
        response = self.ask('HEAD', 'c')
        return response.headers.get(sysmeta(MODE), '') \
            if response.is_success else None

    def test_a_new_one_has_its_metadata_at_once(self):
        self.assertEqual({'write-repair'}, set(self.put(1, **MODES)))
        self.assertEqual((201, 'write-repair'), (self.status, self.mode()))

    def test_so_has_one_that_is_made_again(self):
        self.put(1)
        self.assertEqual(204, self.ask('DELETE', 'c', **at(2)).status_int)
        seen = self.put(3, **MODES)
        self.assertEqual([], [each for each in seen if each == ''])
        self.assertEqual((201, 'write-repair'), (self.status, self.mode()))

    def test_a_put_from_before_its_deletion_leaves_nothing(self):
        self.put(1)
        self.ask('DELETE', 'c', **at(5))
        self.put(4, **MODES)
        self.assertEqual((409, None), (self.status, self.mode()))
        self.put(6)
        self.assertEqual((201, ''), (self.status, self.mode()))

    def test_a_deletion_that_is_refused_clears_nothing(self):
        """The container was made or changed since."""
        self.put(1, **MODES)
        for method in 'PUT', 'POST':
            self.ask(method, 'c', **at(5))
            for number in 4, 5:
                self.assertEqual(
                    (409, 'write-repair'),
                    (self.ask('DELETE', 'c', **at(number)).status_int,
                     self.mode()))
        self.assertEqual(204, self.ask('DELETE', 'c', **at(6)).status_int)
