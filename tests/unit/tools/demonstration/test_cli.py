# SPDX-License-Identifier: Apache-2.0
"""The demonstration takes its own directory only, and leaves nothing."""

import io
import os
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from unittest import TestCase, mock

from swiftclient.client import ClientException

from tools import ToolError
from tools.cluster import layout
from tools.demonstration import cli, removal, show
from tools.demonstration.passes import Cost, print_comparison, read_log
from tools.demonstration.stage import Stage
from tools.demonstration.users import ObjectName, Upload, User


class Case(TestCase):
    def setUp(self):
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name


class TestCommand(Case):
    def run_main(self, *argv):
        with redirect_stderr(io.StringIO()) as errors, \
                redirect_stdout(io.StringIO()) as shown, \
                mock.patch.object(cli.signal, 'signal'):
            try:
                status = cli.main(['--dir', self.top, *argv])
            except SystemExit as err:
                status = err.code
        return status, errors.getvalue() + shown.getvalue()

    def test_wrong_arguments_are_refused(self):
        for argv, message in ((('--files', '599'), 'at least 600'),
                              (('--files', 'many'), 'at least 600'),
                              (('--acts', 'drama'), 'choose from')):
            status, text = self.run_main(*argv)
            self.assertEqual(2, status)
            self.assertIn(message, text)

    def test_acts_are_played_in_their_order_until_one_fails(self):
        played = []

        def act(name, error=None):
            def run():
                played.append(name)
                if error:
                    raise error
                return 'good'
            return lambda *args: mock.Mock(
                title='t', run=run, to_look_at=lambda: ())

        acts = {'a': act('a'), 'b': act('b', ToolError('bad')),
                'c': act('c')}
        with mock.patch.object(cli, 'ACTS', acts):
            for names, status in ((['c', 'a'], 0), (['a', 'b', 'c'], 1)):
                del played[:]
                self.setUp()    # the directory stays locked
                found, text = self.run_main('--acts', *names)
                self.assertEqual(status, found)
                self.assertEqual(sorted(names)[:2], played)
                self.assertIn('tools/demo --down --dir ' + self.top, text)
        self.assertIn('FAILED b: bad', text)

    def test_a_directory_of_someone_else_is_refused_untouched(self):
        os.mkdir(os.path.join(self.top, 'precious'))
        status, text = self.run_main()
        self.assertEqual(2, status)
        self.assertIn('choose another --dir', text)
        with self.assertRaisesRegex(OSError, 'not a demonstration'):
            removal.remove(self.top)
        self.assertEqual(['precious'], os.listdir(self.top))


class TestStage(Case):
    def test_an_earlier_stage_is_replaced_but_not_one_in_use(self):
        stage = Stage(self.top, 23900)
        Path(self.top, 'lightsync').mkdir()
        with self.assertRaisesRegex(ToolError, 'another demonstration'):
            Stage(self.top, 23900)
        os.close(stage.lock)
        os.close(Stage(self.top, 23900).lock)
        self.assertEqual([removal.MARKER], os.listdir(self.top))

    def test_clusters_share_no_port_and_stock_differs_in_little(self):
        stage = Stage(self.top, 23900)
        os.close(stage.lock)
        specs = {name: cluster.spec
                 for name, cluster in stage.clusters.items()}
        ports = [{spec.port(daemon, node) for daemon in (
            *layout.CLUSTER_PORTS, *layout.NODE_PORTS)
            for node in spec.node_numbers()} for spec in specs.values()]
        self.assertEqual(sum(map(len, ports)), len(set().union(*ports)))
        self.assertEqual(
            {'root', 'base_port', 'replicator', 'services'},
            set(specs['lightsync'].differences(specs['stock'])))


class TestRemoval(Case):
    def test_processes_of_the_clusters_end_and_the_directory_goes(self):
        Path(self.top, removal.MARKER).touch()
        path = os.path.join(self.top, 'lightsync', 'etc', 'x.conf')
        victim, other = (subprocess.Popen(
            [sys.executable, '-c', 'input()', argument],
            stdin=subprocess.PIPE) for argument in (path, self.top))
        for each in (victim, other):
            self.addCleanup(each.wait)
            self.addCleanup(each.kill)
            self.addCleanup(each.stdin.close)
        with mock.patch.object(removal.time, 'sleep',
                               lambda _: victim.poll()):
            self.assertTrue(removal.remove(self.top))
        self.assertEqual((-9, None), (victim.wait(), other.poll()))
        self.assertFalse(os.path.exists(self.top))
        self.assertFalse(removal.remove(self.top))
        os.mkdir(self.top)


class TestPasses(Case):
    def test_messages_and_bytes_after_a_position_are_counted(self):
        log = Path(self.top, 'log')
        log.write_text('"REPLICATE /a" 200\n')
        begin = log.stat().st_size
        with log.open('a') as more:
            more.write('t 127.0.0.1 - - "LIGHTSYNC /n1d1/0" 200 -\n'
                       't 127.0.0.1 - - "PUT /n1d1/0/a/c/o" 201 -\n'
                       'sent 10 bytes  received 5 bytes  total size 7\n')
        self.assertEqual((Counter(LIGHTSYNC=1), 15), read_log(log, begin))
        self.assertEqual((Counter(), 0), read_log(log.parent / 'no', 0))

    def test_costs_add_up_and_are_compared(self):
        cost = Cost(1, Counter(SSYNC=2), 10, 0.5, 1)
        self.assertEqual(Cost(2, Counter(SSYNC=4), 20, 1, 2), cost + cost)
        stream = io.StringIO()
        print_comparison(show.Show(stream), 'x', cost, cost + cost)
        self.assertRegex(stream.getvalue(), 'messages +2 +4 +0.5')
        self.assertNotIn('Little CPU', stream.getvalue())
        print_comparison(show.Show(stream), 'x', cost, cost)
        self.assertIn('Little CPU', stream.getvalue())


class TestShow(TestCase):
    def test_a_step_is_said_while_it_lasts_and_at_its_end(self):
        stream, said = io.StringIO(), Event()

        def write(text):
            if '1 of 2' in text:
                said.set()
            return io.StringIO.write(stream, text)

        with mock.patch.multiple(show, TICK=0.01, SILENCE=0.01):
            shown = show.Show(mock.Mock(
                write=write, flush=lambda: None, isatty=lambda: False))
            with shown.doing('things', 2) as count:
                count()
                self.assertTrue(said.wait(60))
                count()
        self.assertIn('  things: 2 of 2, ', stream.getvalue().splitlines()[-1])

    def test_no_line_is_wider_than_a_terminal(self):
        stream = io.StringIO()
        shown = show.Show(stream)
        shown.say('many words ' * 30)
        shown.verdict('act', True, 'words ' * 30)
        self.assertLess(max(map(len, stream.getvalue().splitlines())), 80)


class TestUsers(TestCase):
    where = ObjectName('c', 'o')

    def user(self, **answers):
        with mock.patch('tools.demonstration.users.Connection') as self.made:
            connection = self.made.return_value
            connection.get_auth.return_value = 'http://h/v1/AUTH_a', 'token'
            for name, answer in answers.items():
                getattr(connection, name).side_effect = answer
            return User(dict.fromkeys(('ST_AUTH', 'ST_USER', 'ST_KEY'), 'x'))

    def test_content_follows_from_its_seed_and_has_its_size(self):
        upload = Upload(self.where, 'seed', 100, 200)
        self.assertEqual(upload.data, upload.data)
        self.assertNotEqual(upload.data, upload._replace(seed='x').data)
        self.assertTrue(100 <= len(upload.data) <= 200)

    def test_a_status_is_told_only_where_it_may_be(self):
        gone = ClientException('gone', http_status=404)
        user = self.user(get_object=[({}, b'x'), gone, gone, OSError('no')],
                         put_object=gone)
        self.assertEqual((200, b'x'), user.read(self.where))
        self.assertEqual((404, b''), user.read(self.where))
        self.assertIn('exists', user.check((self.where, 'digest')))
        for operation in (lambda: user.read(self.where),
                          lambda: user.write(self.where, b'')):
            with self.assertRaisesRegex(ToolError, 'object c/o: (no|gone)'):
                operation()
