# SPDX-License-Identifier: Apache-2.0
"""
The conversion of a node, step by step as OPERATING.md has it, and back.

Meanwhile, the other nodes of the policy keep files: what is written on either
side reaches the other.
"""

import os
import shutil
import unittest

from tests.functional.clusters import object_servers, play_round, wait_for
from tests.functional.served import ServedObjects
from tools.cluster import Policy

SMALL = Policy('small', 0, 3, part_power=5)
NODE, DEVICE = 3, 'n3d1'
OTHERS = 'n1d1', 'n2d1'
SECTION = '[storage-policy:0]\n'
MODULE = 'diskfile_module = egg:swift-lightsync#replication.kv\n'
#: what is never changed, what is while both sides are there, what only the
#: other nodes are told of, and what only the node is told of
GROUPS = 'kept', 'early', 'missed', 'alone'


class TestConversion(unittest.TestCase):

    def setUp(self):
        self.cluster = self.enterContext(object_servers(
            nodes=3, policies=(SMALL,), replication_ports=False,
            sync_method='ssync'))
        self.objects = ServedObjects(self.cluster, SMALL.index)
        self.names = {group: ['%s-%d' % (group, number)
                              for number in range(12)] for group in GROUPS}
        for name in sum(self.names.values(), []):
            self.objects.put(name)
        self.objects.change_some(self.names['kept'])
        self.give_swift_conf()

    def give_swift_conf(self):
        """Give the node a directory of its own for swift.conf."""
        layout = self.cluster.layout
        self.swift_dir = os.path.join(layout.etc, 'own')
        os.mkdir(self.swift_dir)
        os.symlink(layout.ring('object'), os.path.join(
            self.swift_dir, 'object.ring.gz'))
        shutil.copy(layout.conf('swift'), self.swift_dir)
        self.edit(layout.conf('object-server', NODE),
                  'swift_dir = %s\n' % layout.etc,
                  'swift_dir = %s\n' % self.swift_dir)

    def edit(self, path, before, after):
        with open(path) as file:
            text = file.read()
        self.assertIn(before, text)
        with open(path, 'w') as file:
            file.write(text.replace(before, after))

    def swift_init(self, daemon, action):
        self.cluster.swift_init('%s.%d' % (daemon, NODE), action)

    def convert(self, command):
        path = self.cluster.device_path(NODE, DEVICE)
        done = self.cluster.run_on(NODE, [
            self.cluster.layout.launcher('swift-losf-convert'), command, path,
            '--policy', str(SMALL.index), '--bandwidth', '20', '--swift-dir',
            self.swift_dir, *([] if os.path.ismount(path)
                              else ['--no-mount-check'])])
        print(done.stdout.strip())
        self.assertIn(' 0 not converted', done.stdout)

    def play(self, *change):
        """
        Take the four steps, while clients are at work.

        :param change: of swift.conf, a text and what is there after it
        """
        self.convert('copy')
        self.objects.change_some(self.names['early'])
        self.swift_init('object-server', 'stop')
        self.objects.change_some(self.names['missed'], without=[DEVICE])
        self.convert('copy')
        self.edit(os.path.join(self.swift_dir, 'swift.conf'), *change)
        if MODULE in change[1]:
            self.swift_init('object-losf', 'start')
        self.swift_init('object-server', 'start')
        node, = [each for each in self.objects.ring.devs
                 if each['device'] == DEVICE]
        wait_for(lambda: self.objects.ask(
            node, 'HEAD', 'nothing').status == 404, 'the node serves')
        self.objects.change_some(self.names['alone'], without=OTHERS)
        self.convert('finish')

    def assert_replicated(self):
        """Nothing is lost; what either side lacks, it gets."""
        known = {*self.names['kept'], *self.names['early']}
        wrong = self.objects.wrong()
        self.assertEqual(set(), known & {name for name, _ in wrong})
        self.assertEqual({DEVICE, *OTHERS}, {device for _, device in wrong})
        for _ in range(2):
            play_round(self.cluster)
        self.assertEqual([], self.objects.wrong())

    def kept(self):
        """:returns: files and metadata of what is never changed"""
        hashes = {self.objects.hash_name(name) for name in self.names['kept']}
        return {path: held for path, held in
                self.objects.on_device(DEVICE).items()
                if path.split(os.sep)[2] in hashes}

    def test_there_and_back(self):
        before = self.kept()
        self.play(SECTION, SECTION + MODULE)
        self.assertEqual({}, self.objects.on_device(DEVICE))
        self.assertTrue(all(self.objects.files(name, DEVICE)
                            for name in self.names['kept']))
        self.assert_replicated()
        self.play(SECTION + MODULE, SECTION)
        self.swift_init('object-losf', 'stop')
        shutil.rmtree(self.objects.layout(DEVICE).root)
        self.assertEqual(before, self.kept())
        self.assert_replicated()
