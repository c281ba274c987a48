# SPDX-License-Identifier: Apache-2.0
"""The verb PROAR: swift_lightsync/proar/server/push_verb.py."""

from unittest import mock

from swift.common.swob import Request
from swift.common.utils import Timestamp

from swift_lightsync.proar.core.push_message import (
    MAX_BYTES,
    SentChange,
    SentObject,
    decode_answers,
)
from tests.unit.proar.server_world import PARTITION, ServerTestCase


class TestPushVerb(ServerTestCase):

    def sent(self, name, method='PUT', body=b'', **headers):
        self.clock += 1
        return SentObject(PARTITION, '/a/c/' + name, (SentChange(method, {
            'X-Timestamp': Timestamp(self.clock).internal,
            'Content-Type': 'text/plain', **headers}, len(body)),), body)

    def push(self, *objects, path='/sda/push', body=None, **headers):
        return Request.blank(path, {'REQUEST_METHOD': 'PROAR'}, headers={
            'X-Backend-Storage-Policy-Index': '0', **headers},
            body=b''.join(each.encoded for each in objects)
            if body is None else body).get_response(self.app)

    def statuses(self, *objects):
        response = self.push(*objects)
        self.assertEqual(200, response.status_int)
        return [[each.status for each in found] for found
                in decode_answers(response.body, len(objects))]

    def test_each_object_is_taken_and_answered(self):
        self.assertEqual([[201], [201], [404]], self.statuses(
            self.sent('o', body=b'one'), self.sent('ö', body=b'other'),
            self.sent('gone', 'DELETE')))
        for name, body in (('o', b'one'), ('%C3%B6', b'other')):
            self.assertEqual(body, self.request('GET', name=name).body)

    def test_one_that_is_refused_leaves_the_others_alone(self):
        late = self.sent('o', body=b'late')
        self.assertEqual([[201]], self.statuses(self.sent('o', body=b'new')))
        self.assertEqual([[409], [422], [201]], self.statuses(
            late, self.sent('bad', body=b'x', ETag='0' * 32),
            self.sent('good', body=b'y')))
        self.assertEqual(b'new', self.request('GET').body)

    def test_what_ails_a_disk_is_told_once_and_no_more_is_tried(self):
        with mock.patch.object(self.app, 'PUT',
                               side_effect=OSError(30)) as put:
            self.assertEqual([[500]] * 99, self.statuses(*(
                self.sent('o%d' % number) for number in range(99))))
        self.assertEqual(1, len(self.logger.at('ERROR')))
        self.assertLess(put.call_count, 10)

    def test_all_changes_of_an_object_are_made(self):
        put, post = self.sent('o', body=b'x'), self.sent(
            'o', 'POST', **{'X-Object-Meta-Color': 'red'})
        self.assertEqual([[201, 202]], self.statuses(SentObject(
            PARTITION, put.path, (*put.changes, *post.changes), b'x')))
        self.assertEqual('red', self.request('HEAD').headers[
            'X-Object-Meta-Color'])

    def test_what_is_pushed_is_not_logged_though_a_slot_is_told(self):
        self.statuses(self.sent('o', body=b'x',
                                **{'X-Backend-Proar-Slot': '1'}))
        self.assertEqual([], self.entries())

    def test_it_goes_to_the_device_and_policy_of_the_request_alone(self):
        self.statuses(self.sent('o', body=b'x', **{
            'X-Backend-Storage-Policy-Index': '2'}))
        self.assertEqual(200, self.request('GET').status_int)
        self.assertEqual(404, self.request('GET', policy=2).status_int)
        # A path cannot leave its device.
        found, = self.statuses(SentObject(
            PARTITION, '/../../sdb/3/a/c/x', (SentChange('DELETE', {
                'X-Timestamp': '1'}),)))
        self.assertEqual(404, self.request(
            'GET', device='sdb', name='x').status_int)

    def test_what_is_no_push_is_400(self):
        for response in (self.push(body=b'x'),
                         self.push(path='/sda/pull', body=b'')):
            self.assertEqual(400, response.status_int)
        self.assertIn(b'must be of /sda/push', response.body)

    def test_a_device_that_is_not_there_is_507(self):
        self.app._diskfile_router[self.policy].mount_check = True
        self.assertEqual(507, self.push(path='/sdx/push').status_int)

    def test_too_much_is_413(self):
        response = self.push(body=b'', **{
            'Content-Length': str(MAX_BYTES + 1)})
        self.assertEqual(413, response.status_int)
