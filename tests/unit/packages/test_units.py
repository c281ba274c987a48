# SPDX-License-Identifier: Apache-2.0
"""The systemd units."""

import configparser
import unittest

from tools.packages.units import commands, daemons, unit, units


def parsed(daemon):
    found = configparser.ConfigParser(strict=True, interpolation=None)
    found.optionxform = str
    found.read_string(unit(daemon))
    return found


class TestUnits(unittest.TestCase):

    def test_each_daemon_of_swift_and_of_ours_has_one(self):
        found = daemons(commands())
        for daemon in ('account-server', 'container-server', 'object-server',
                       'proxy-server', 'object-replicator', 'object-expirer',
                       'object-lightsync', 'object-losf', 'object-converger',
                       'container-propagator', 'container-sharder',
                       'object-lightreconstructor'):
            self.assertIn(daemon, found)
        for command in ('object-info', 'account-audit', 'container-deleter',
                        'object-relinker', 'lightsync-health', 'proar-lag'):
            self.assertNotIn(command, found)
        self.assertEqual({'swift-%s.service' % each for each in found},
                         set(units(commands())))

    def test_a_daemon_runs_with_the_conf_of_its_server(self):
        for daemon, conf in (
                ('object-converger', 'object-server'),
                ('container-propagator', 'container-server'),
                ('proxy-server', 'proxy-server'),
                ('object-expirer', 'object-expirer')):
            service = parsed(daemon)
            self.assertEqual('/usr/bin/swift-%s /etc/swift/%s.conf' % (
                daemon, conf), service['Service']['ExecStart'])
            self.assertEqual('/etc/swift/%s.conf' % conf,
                             service['Unit']['ConditionPathExists'])
            self.assertEqual('swift', service['Service']['User'])

    def test_only_what_can_wait_runs_with_a_lower_priority(self):
        for daemon, is_idle in (
                ('object-server', False), ('object-losf', False),
                ('object-converger', True), ('object-auditor', True)):
            self.assertEqual(is_idle, 'Nice' in parsed(daemon)['Service'])

    def test_index_servers_begin_first_and_end_last(self):
        for daemon, is_after in (
                ('object-server', True), ('object-converger', True),
                ('object-lightsync', True), ('object-losf', False),
                ('object-expirer', False), ('container-server', False)):
            self.assertEqual(
                is_after, 'swift-object-losf.service' in
                parsed(daemon)['Unit']['After'].split(), daemon)

    def test_servers_are_reloaded_and_daemons_cannot_be(self):
        # SIGHUP would end them with status 0, and nobody began them again.
        for daemon in daemons(commands()):
            self.assertEqual(
                '/bin/kill -USR1 $MAINPID' if daemon in (
                    'account-server', 'container-server', 'object-server',
                    'proxy-server') else None,
                parsed(daemon)['Service'].get('ExecReload'), daemon)

    def test_of_two_replicators_one_runs(self):
        self.assertEqual('swift-object-replicator.service',
                         parsed('object-lightsync')['Unit']['Conflicts'])
        self.assertEqual(
            'swift-object-reconstructor.service',
            parsed('object-lightreconstructor')['Unit']['Conflicts'])
        self.assertNotIn('Conflicts', parsed('object-replicator')['Unit'])
