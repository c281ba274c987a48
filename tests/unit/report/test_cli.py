# SPDX-License-Identifier: Apache-2.0
"""cli: real swift.conf, real rings, real servers."""

import contextlib
import gzip
import io
import json
import os
from array import array
from unittest import mock

from swift.common import utils
from swift.common.ring import RingData

from swift_lightsync.report import cli
from swift_lightsync.report.answer import NodeAnswer, State, Suspect
from tests.unit.report.fixtures import NOW, PAIR, PASS
from tests.unit.sync.fixtures import SwiftTestCase, node, served

SWIFT_CONF = '''\
[swift-hash]
swift_hash_path_suffix = x
[storage-policy:0]
name = gold
default = yes
[storage-policy:1]
name = silver
aliases = grey
[storage-policy:2]
name = ec
policy_type = erasure_coding
ec_type = liberasurecode_rs_vand
ec_num_data_fragments = 2
ec_num_parity_fragments = 1
'''


class CliTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        patcher = mock.patch.object(utils, 'SWIFT_CONF_FILE',
                                    '/nowhere/swift.conf')
        patcher.start()
        self.addCleanup(patcher.stop)
        self.etc = os.path.join(self.root, 'etc')
        os.mkdir(self.etc)
        self.write_conf(SWIFT_CONF)
        self.answers = [NodeAnswer(
            NOW, '/cache/%d' % number, (), (), ()) for number in range(2)]
        self.devices = []
        for number, each in enumerate(self.answers):
            port = self.enterContext(served(self.app(number)))
            self.devices.append(node(number, port))
        self.places = [('127.0.0.1', each['port'], 'sda')
                       for each in self.devices]
        for number, other in ((0, 1), (1, 0)):
            self.tell(number, pairs=tuple(
                self.pair(number, other, policy) for policy in (0, 1)),
                devices=(PASS.__class__(self.places[number], NOW, 20.0, 1, 0,
                                        0),))
        self.write_ring('object')
        self.write_ring('object-1')

    def write_conf(self, text):
        with open(os.path.join(self.etc, 'swift.conf'), 'w') as conf:
            conf.write(text)

    def write_ring(self, name):
        RingData([array('H', [0, 1]), array('H', [1, 0])], self.devices,
                 31).save(os.path.join(self.etc, name + '.ring.gz'))

    def app(self, number):
        def answer(env, start_response):
            start_response('200 OK', [])
            return [self.answers[number].encode()]
        return answer

    def pair(self, number, other, policy=0, **fields):
        return PAIR.__class__(**{
            **PAIR.__dict__, 'policy': policy, 'device': self.places[number],
            'neighbour': self.places[other], **fields})

    def tell(self, number, **fields):
        self.answers[number] = NodeAnswer(**{
            **self.answers[number].__dict__, **fields})

    def run_cli(self, *args):
        """Return the exit status, and what went to stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            try:
                status = cli.main(['--swift-dir', self.etc, *args])
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def report(self, *args):
        status, out, err = self.run_cli('--json', *args)
        self.assertEqual('', err)
        return status, json.loads(out)


class TestReport(CliTestCase):

    def test_it_asks_all_nodes_of_the_rings_and_all_is_well(self):
        status, out, err = self.run_cli()
        self.assertEqual((0, ''), (status, err))
        self.assertIn('2 nodes asked, 2 answered', out)
        self.assertTrue(out.endswith('All is well.\n'))

    def test_it_tells_of_replicated_policies(self):
        _, data = self.report()
        self.assertEqual([(0, 'gold', 2), (1, 'silver', 2)], [
            (policy['policy'], policy['name'], len(policy['pairs']))
            for policy in data['policies']])

    def test_a_policy_is_chosen_by_name_alias_or_index(self):
        for wanted in ('silver', 'grey', '1'):
            status, data = self.report('--policy', wanted)
            self.assertEqual((0, [1]), (status, [
                policy['policy'] for policy in data['policies']]))

    def test_hosts_are_asked_instead_of_those_of_the_rings(self):
        status, data = self.report('127.0.0.1:%d' % self.places[0][1])
        self.assertEqual((0, [list(self.places[0][:2])]), (
            status, [each['host'] for each in data['nodes']]))

    def test_what_is_not_well_is_told_by_the_status(self):
        self.tell(0, suspects=(Suspect(self.places[1][:2], State.FAILED, 10,
                                       NOW + 9),))
        status, out, _ = self.run_cli()
        self.assertEqual(1, status)
        self.assertIn('failed neighbours: 1', out)

    def test_how_old_is_stale_is_the_callers_choice(self):
        for stale, expected in ((9, 1), (11, 0)):
            self.assertEqual(expected, self.report('--stale', str(stale))[0])

    def test_a_page_is_written_beside_what_is_printed(self):
        path = os.path.join(self.root, 'page.html')
        status, out, _ = self.run_cli('--html', path)
        self.assertEqual(0, status)
        with open(path, encoding='utf8') as page:
            self.assertIn('All is well.', page.read())
        self.assertIn('All is well.', out)


class TestUsage(CliTestCase):

    def assert_refused(self, args, *reasons):
        status, out, err = self.run_cli(*args)
        self.assertEqual((2, ''), (status, out), args)
        for reason in reasons:
            self.assertIn(reason, err)
        self.assertNotIn('Traceback', err)

    def test_a_bad_argument_is_refused_by_its_name(self):
        for option in ('--timeout', '--stale'):
            for value in ('0', '-1', 'x', '', 'nan', 'inf'):
                self.assert_refused(['%s=%s' % (option, value)], option,
                                    'must be a number of seconds above 0')
        for host in ('x', 'x:', ':1', 'x:y', 'x:0', 'x:70000', 'x:-1'):
            self.assert_refused([host], host, 'must be IP:port')
        self.assert_refused(['--nothing'], '--nothing')

    def test_a_policy_that_is_none_is_refused_with_those_there_are(self):
        for wanted in ('bronze', '9', 'ec', '2', ''):
            self.assert_refused(['--policy', wanted], '--policy ' + wanted,
                                'gold (0), silver (1)')

    def test_a_swift_dir_without_a_usable_conf_is_refused(self):
        for text in ('', '[swift-hash]\n', 'garbage', SWIFT_CONF.replace(
                'default = yes', 'policy_type = x')):
            with mock.patch.object(utils, 'SWIFT_CONF_FILE', '/n/swift.conf'):
                self.write_conf(text)
                self.assert_refused([], '--swift-dir ' + self.etc)

    def test_a_swift_dir_that_is_not_there_is_refused(self):
        self.assert_refused(['--swift-dir', '/nowhere/at/all'],
                            '/nowhere/at/all')

    def test_a_ring_that_is_missing_or_damaged_is_refused(self):
        path = os.path.join(self.etc, 'object-1.ring.gz')
        os.unlink(path)
        self.assert_refused([], 'the ring of policy silver')
        whole = b'R1NG\0\1\0\0\0\2{}'
        for damage in (b'', b'garbage', *map(gzip.compress, (
                b'', b'x' * 100, whole, whole[:4], b'R1NG\0\1\0\0\0\5ab')),
                gzip.compress(whole)[:20]):
            with open(path, 'wb') as ring:
                ring.write(damage)
            self.assert_refused([], 'the ring of policy silver')
        self.assertEqual(0, self.run_cli('--policy', 'gold')[0])

    def test_a_page_that_cannot_be_written_is_refused(self):
        self.assert_refused(['--html', self.root], '--html ' + self.root)
