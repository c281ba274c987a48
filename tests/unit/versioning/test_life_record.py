# SPDX-License-Identifier: Apache-2.0
"""What the life record of a container says, as a row and as a message."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.records import RecordError
from swift_lightsync.versioning.core.life import (
    ENABLED,
    EXPIRE,
    KEEP,
    MAX_SINCE,
    Life,
    changes,
    common_headers,
    life_of,
    life_row,
)
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp
from tests.unit.sync.fixtures import SwiftTestCase

lives = st.builds(Life, st.booleans(), st.builds(
    Stamp, st.integers(0, 9), st.integers(0, 3)),
    st.sampled_from(('rome', 'paris')))


#: changes of two headers, in the order of their stamps: (which of three sites
#: makes it, header, value, whether the container is made anew)
changes_at_once = st.lists(st.tuples(
    st.integers(0, 2), st.sampled_from('ab'), st.sampled_from(['', '1', '2']),
    st.integers(0, 5).map(lambda number: not number)), max_size=8)


class TestJoining(SwiftTestCase):

    @given(changes_at_once, st.permutations(range(3)))
    def test_each_header_has_its_newest_change_in_whatever_order(
            self, made, order):
        lives = [Life(True, Stamp(1), 'rome').describing(((ENABLED, 'true'),))
                 for _ in range(3)]
        newest = {}
        for ticks, (site, name, value, is_new) in enumerate(made, 2):
            life = replace(lives[site], stamp=Stamp(ticks))
            name = 'x-container-meta-' + name
            if is_new:
                newest = {}
                life = life.anew()
            lives[site] = life.changed([(name, value), (ENABLED, 'true')])
            newest[name] = value
        found = Life(True, Stamp(99), 'rome')
        for number in order:
            found = found.joined(lives[number])
        self.assertEqual(
            ({name: value for name, value in newest.items() if value},
             Life.from_json(found.to_json())),
            ({name: value for name, value in found.headers
              if name != ENABLED}, found))
        for life in lives:
            self.assertEqual(found, found.joined(life))

    def test_where_too_many_were_changed_a_record_tells_all_at_once(self):
        life = Life(True, Stamp(1), 'rome').describing(((ENABLED, 'true'),))
        for number in range(MAX_SINCE + 1):
            self.assertEqual(number, len(life.since))
            life = replace(life, stamp=Stamp(number + 2)).changed([
                ('X-Remove-Container-Meta-%d' % number, 'x')])
        self.assertEqual(((), life.stamp), (life.since, life.described))
        self.assertEqual(((ENABLED, 'true'),), life.headers)

    def test_so_it_does_where_their_names_are_too_long_for_a_row(self):
        life = Life(True, Stamp(1), 'rome').describing(((ENABLED, 'true'),))
        for number in range(MAX_SINCE):
            life = replace(life, stamp=Stamp(number + 2)).changed([
                ('X-Container-Meta-%02d%s' % (number, '\u00e9' * 126), '')])
            life_row(life)
        self.assertLess(life.described, life.stamp)
        self.assertNotEqual(Stamp(1), life.described)


class TestRecord(SwiftTestCase):

    @given(lives)
    def test_a_row_keeps_what_a_record_says(self, life):
        self.assertEqual(life, life_of(life_row(life)))
        self.assertEqual((0, False),
                         (life_row(life).size, life_row(life).deleted))

    def test_no_other_row_is_a_record(self):
        own = life_row(Life(True, Stamp(1), 'rome'))
        for row in replace(own, name='o'), replace(own, deleted=True), \
                replace(own, stamp=Stamp(2)), Row('\0C', Stamp(1)):
            self.assertRaises(ValueError, life_of, row)

    def test_other_sites_are_told_of_what_all_have_in_common(self):
        self.assertEqual((
            ('x-container-meta-quota-bytes', '7'),
            ('x-container-read', '.r:*'),
            ('x-container-sysmeta-s3api-acl', '{}'), (KEEP, '7'),
            (ENABLED, 'true')), common_headers(
                [('X-Container-Read', '.r:*'), ('X-Storage-Policy', 'gold'),
                 ('X-Container-Meta-Quota-Bytes', '7'),
                 ('X-Container-Sysmeta-S3Api-Acl', '{}'),
                 ('X-Container-Sysmeta-Site-Versions-Keep', '7'),
                 ('X-Container-Sysmeta-Site-Versions-Mode', 'read-repair'),
                 ('X-Container-Sysmeta-A', '1'), ('X-Container-Write', '')],
                True))

    def test_only_a_header_that_begins_so_removes_another(self):
        kept = 'x-container-meta-a-remove-b', 'x-container-meta-a-b'
        life = Life(True, Stamp(1), 'rome').changed(
            [(name, '1') for name in (*kept, 'x-container-meta-c')])
        life = life.changed([(kept[0], '1'),
                             ('X-Remove-Container-Meta-C', 'x')])
        self.assertEqual(set(kept), dict(life.headers).keys() - {ENABLED})

    def test_the_whole_set_replaces_the_older_one(self):
        self.assertEqual(
            {'x-container-meta-a': '2', 'x-container-read': '',
             'x-container-write': '', KEEP: '', EXPIRE: '',
             'x-container-sysmeta-s3api-acl': '', ENABLED: 'false'},
            dict(changes(['X-Container-Meta-A', 'X-Container-Read', 'Date',
                          'X-Container-Sysmeta-S3Api-Acl'],
                         (('x-container-meta-a', '2'), (ENABLED, 'false')))))

    def test_what_swift_does_not_remove_stays_in_the_record(self):
        """A client may send such a header."""
        headers = (('x-container-sysmeta-s3api-acl', '{}'), (KEEP, '7'))
        life = Life(True, Stamp(1), 'rome').describing(
            (*headers, (ENABLED, 'true')))
        self.assertEqual(life, life.changed(
            ('X-Remove-' + name[2:], 'x') for name, _ in headers))

    def test_a_message_is_checked(self):
        good = {'exists': True, 'stamp': '1700000000.00000', 'site': 'rome',
                'described': '1700000000.00000',
                'headers': [['x-container-read', '.r:*'], [ENABLED, 'true']]}
        found = Life.from_json(good)
        self.assertEqual(found, Life.from_json(found.to_json()))
        for wrong in ({'since': [['date', '1600000000.00000']]},
                      {'since': [[ENABLED, '1700000000.00001']]},
                      {'since': [[ENABLED, 'x']]}, {'headers': []},
                      {'site': 'A'}, {'described': None},
                      {'described': '1700000000.00001'},
                      {'headers': [*good['headers'],
                                   ['x-container-meta-a', '%' * 22000]]},
                      {'headers': [*good['headers'], [KEEP, ' 7']]},
                      {'headers': [*good['headers'], [EXPIRE, '']]},
                      {'stamp': 'x'}, {'headers': [[ENABLED, 'maybe']]},
                      {'headers': [*good['headers'], ['x-timestamp', '1']]},
                      {'headers': [*good['headers'],
                                   ['x-container-meta-a', 'b\r\nc']]},
                      {'headers': good['headers'] * 2},
                      {'headers': [['X-Container-Read', 'a'],
                                   [ENABLED, 'true']]}):
            with self.assertRaises(RecordError, msg=wrong):
                Life.from_json({**good, **wrong})
