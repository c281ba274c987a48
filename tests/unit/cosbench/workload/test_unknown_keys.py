# SPDX-License-Identifier: Apache-2.0
"""Keys that nothing asks for: warned of, with the one that was meant."""

import unittest

from cosbench import adaptors
from cosbench.document.reader import read
from cosbench.document.validate import refuse_unknown_keys
from cosbench.errors import WorkloadError
from tests.unit.cosbench.documents import (
    PUBLISHED,
    READ,
    operation,
    reads,
    work,
    wrapped,
)

#: Of which an adaptor must be made.
S3 = 'endpoint=http://127.0.0.1:1;accesskey=a;secretkey=b'


def unknown(text):
    """:returns: what is said of each key, without the words that all have"""
    words = 'config: nothing asks for the key '
    found = [each for each in read(
        text.encode(), adaptors.installed()).warnings if each.is_unknown_key]
    return [(each.line, each.reason.replace(words, '')) for each in found]


class TestUnknownKeys(unittest.TestCase):

    def test_the_nearest_known_one_is_named(self):
        for config, meant in (
                ('hash_check=true', 'hashCheck'), ('contents=zero', 'content'),
                ('container=c(1)', 'containers'), ('arival=poisson',
                                                   'arrival')):
            key = config.partition('=')[0]
            self.assertEqual(
                [(4, "'%s'; did you mean %s?" % (key, meant))],
                unknown(wrapped(work(operation(
                    'containers=c(1);objects=c(1);' + config, 'read')))))
        self.assertEqual([(4, "'ratex'; did you mean rate?")], unknown(
            reads('workers="1" runtime="1" config="rateX=5"')))
        self.assertEqual([(4, "'qqqqqqqq'")], unknown(
            reads('workers="1" runtime="1" config="qqqqqqqq=5"')))

    def test_what_adaptors_ask_for_is_known_where_they_stand(self):
        def storage(more):
            return wrapped(work(READ, 'workers="1" runtime="1"'),
                           above='<storage type="s3" config="%s;%s"/>' % (
                               S3, more))
        self.assertEqual([], unknown(storage('payload_signing=true')))
        self.assertEqual([(1, "'time_out'; did you mean timeout?")],
                         unknown(storage('time_out=5')))

    def test_an_adaptor_that_cannot_be_made_here_says_nothing(self):
        # Its files may be on the drivers.
        self.assertEqual([], unknown(wrapped(
            work(READ, 'workers="1" runtime="1"'),
            above='<storage type="s3" config="%s;cacert=/absent;x=1"/>'
            % S3)))

    def test_names_of_headers_are_the_users_own(self):
        self.assertEqual([], unknown(wrapped(
            '<work type="init" workers="1" config="containers=c(1);'
            'cheader.X-Any=1"/>')))

    def test_published_files_have_none_that_0_4_2_knew(self):
        self.assertEqual([], [reason for _, reason in unknown(
            PUBLISHED)])
        refuse_unknown_keys(PUBLISHED.encode())

    def test_they_are_refused_if_that_is_asked_for(self):
        with self.assertRaisesRegex(WorkloadError, 'line 4: .*rate'):
            refuse_unknown_keys(reads(
                'workers="1" runtime="1" config="rateX=5"').encode())

    def test_many_long_ones_take_no_time(self):
        text = ';'.join('%s%d=1' % ('x' * 4000, number)
                        for number in range(200))
        self.assertEqual(100, len(unknown(reads(
            'workers="1" runtime="1" config="%s"' % text))))
