# SPDX-License-Identifier: Apache-2.0
"""etc/*.conf-sample: what the code reads, and no more."""

import os
import re
import unittest

from swift.common.utils import load_pkg_resource
from swift.obj.reconstructor import ObjectReconstructor
from swift.obj.replicator import ObjectReplicator
from swift.obj.server import ObjectController as StockController

import swift_lightsync
from swift_lightsync import proxy_server, recon_filter
from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.converger.converger_options import ConvergerOptions
from swift_lightsync.proar.proxy.policy_options import (
    PolicyOptions,
    primary_role_policies,
)
from swift_lightsync.software import RUN_DIR
from swift_lightsync.sync.reconstructor import LightSyncReconstructor
from swift_lightsync.sync.replicator import LightSyncReplicator
from swift_lightsync.versioning.proxy import middleware
from swift_lightsync.versioning.sites.options import FilterOptions
from swift_losf.daemon.manager import IndexServerManager
from swift_losf.options import LosfOptions, ManagerOptions
from tests.unit.sync.fixtures import SwiftTestCase, node, ring_of

ETC = os.path.join(os.path.dirname(os.path.dirname(
    swift_lightsync.__file__)), 'etc')
SAMPLE = os.path.join(ETC, 'object-server.conf-sample')
PROXY_SAMPLE = os.path.join(ETC, 'proxy-server.conf-sample')
#: Lines of a sample.
SHOWN = r'#\s*(\w+) = ?(.*)\n'
SET = r'(\w+) = (.*)\n'


class RecordingConf(dict):
    """A conf that notes which options it was asked for, and with what."""

    def __init__(self, *args):
        super().__init__(*args)
        self.defaults = {}

    def get(self, name, default=None):
        self.defaults.setdefault(name, default)
        return super().get(name, default)

    def __getitem__(self, name):
        self.defaults.setdefault(name, None)
        return super().__getitem__(name)

    def __contains__(self, name):
        self.defaults.setdefault(name, None)
        return super().__contains__(name)


def sample(pattern, path=SAMPLE):
    """:param pattern: of a line, with groups of a name and a value
    :param path: of the sample
    :returns: a dict, section to a dict, name to value
    """
    sections = {}
    with open(path, encoding='utf8') as lines:
        for line in lines:
            section = re.fullmatch(r'\[(.+)\]\n', line)
            if section:
                options = sections.setdefault(section[1], {})
            option = re.fullmatch(pattern, line)
            if option:
                if option[1] in options:
                    raise AssertionError('%s stands twice' % option[1])
                options[option[1]] = option[2]
    return sections


class TestConfSample(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.policy.object_ring = ring_of(self.root, [node(0, 6200)])
        self.shown = sample(SHOWN)
        self.set = sample(SET)

    def read_by(self, cls):
        """The options that a class asks the conf for, and their defaults."""
        conf = RecordingConf(self.conf)
        cls(conf, logger=self.logger)
        return conf.defaults

    def options_of(self, cls):
        """What our class asks the conf for, and no stock one does."""
        stock = {**self.read_by(ObjectReplicator),
                 **self.read_by(StockController)}
        return {name: default for name, default in self.read_by(cls).items()
                if name not in stock}

    def shared(self, losf=False):
        """What is shown in DEFAULT, of LightSync or of LOSF."""
        return {name: value for name, value in self.shown['DEFAULT'].items()
                if name.startswith(LosfOptions.PREFIX) == losf}

    def assert_shown(self, section, cls):
        """The options are shown in the section or, where more, in DEFAULT."""
        self.assert_defaults(self.options_of(cls),
                             {**self.shared(), **self.shown[section]})

    def assert_defaults(self, options, shown):
        self.assertEqual(sorted(options), sorted(shown))
        for name, default in options.items():
            self.assertEqual(default, type(default)(shown[name]), name)

    def test_the_walker_sees_what_stock_swift_reads(self):
        self.assertEqual(1, self.read_by(ObjectReplicator)['concurrency'])

    def test_the_replicator_has_the_options_and_defaults_that_are_shown(self):
        self.assertIn('full_exchange_interval',
                      self.options_of(LightSyncReplicator))
        self.assert_shown('object-replicator', LightSyncReplicator)

    def test_the_reconstructor_has_an_option_of_the_replicator(self):
        options = self.options_of(LightSyncReconstructor).keys() \
            - self.read_by(ObjectReconstructor).keys()
        self.assertEqual({'full_exchange_interval'}, options)
        with open(SAMPLE, encoding='utf8') as lines:
            section = lines.read().partition('[object-reconstructor]')[2]
        for name in options:
            self.assertIn(name, section.partition('\n[')[0])

    def test_the_object_server_has_the_options_that_are_shown(self):
        self.assert_shown('app:object-server', ObjectController)

    def test_what_both_read_is_shown_for_both_and_nothing_else(self):
        self.assertEqual(
            sorted(set(self.options_of(LightSyncReplicator))
                   & set(self.options_of(ObjectController))),
            sorted(self.shared()))

    def test_the_manager_of_index_servers_has_the_options_that_are_shown(self):
        self.assert_defaults(
            self.options_of(IndexServerManager),
            {**self.shared(losf=True), **self.shown['object-losf']})

    def test_the_recon_filter_has_the_option_that_is_shown(self):
        self.assertEqual({'run_dir': RUN_DIR},
                         self.shown['filter:lightsync-recon'])

    def test_the_converger_has_the_options_that_are_shown(self):
        self.assert_defaults(vars(ConvergerOptions()),
                             self.shown['object-converger'])
        self.assertEqual(ConvergerOptions(), ConvergerOptions.from_conf(
            self.shown['object-converger']))

    def test_all_that_is_shown_is_accepted(self):
        LightSyncReplicator({
            **self.conf, **self.shown['DEFAULT'],
            **self.shown['object-replicator']}, logger=self.logger)
        manager = IndexServerManager({
            **self.conf, **self.shown['DEFAULT'],
            **self.shown['object-losf']}, logger=self.logger)
        self.assertEqual((LosfOptions(), ManagerOptions()),
                         (manager.losf_options, manager.options))

    def test_each_option_is_explained_before_it_stands(self):
        for path in (SAMPLE, PROXY_SAMPLE):
            with open(path, encoding='utf8') as lines:
                paragraphs = re.split(r'\n#?\n', lines.read())
            for options in sample(SHOWN, path).values():
                for name in options:
                    self.assert_explained(name, paragraphs)

    def assert_explained(self, name, paragraphs):
        text, = [text for text in paragraphs
                 if re.search(r'^# %s =' % name, text, re.M)]
        first = next(line for line in text.splitlines()
                     if not line.startswith('['))
        self.assertRegex(first, r'^# \S+ \S+')
        self.assertNotIn(' = ', first)

    def test_what_is_set_names_our_classes(self):
        self.assertEqual({'pipeline:main': {'pipeline'},
                          'filter:lightsync-recon': {'use'},
                          'filter:recon': {'use'},
                          'app:object-server': {'use'},
                          'object-replicator': {'replicator_class'},
                          'object-reconstructor': {'reconstructor_class'}},
                         {section: set(options) for section, options
                          in self.set.items() if options})
        app_factory = load_pkg_resource(
            'paste.app_factory', self.set['app:object-server']['use'])
        self.assertIsInstance(app_factory(self.conf), ObjectController)
        self.assertIs(recon_filter.filter_factory, load_pkg_resource(
            'paste.filter_factory',
            self.set['filter:lightsync-recon']['use']))
        self.assertIs(LightSyncReplicator, load_pkg_resource(
            'swift.object_replicator',
            self.set['object-replicator']['replicator_class']))
        self.assertIs(LightSyncReconstructor, load_pkg_resource(
            'swift.object_reconstructor',
            self.set['object-reconstructor']['reconstructor_class']))


class TestProxyConfSample(unittest.TestCase):

    section = 'proxy-server:policy:0'

    def setUp(self):
        self.shown = sample(SHOWN, PROXY_SAMPLE)

    def read(self):
        """The options that are asked for, and their defaults."""
        conf = RecordingConf()
        PolicyOptions.from_conf(conf)
        return dict(conf.defaults, primary_role_writes='false')

    def test_the_policy_has_the_options_and_defaults_that_are_shown(self):
        self.shown.pop('filter:versioning')
        options = self.shown.pop(self.section)
        self.assertEqual({}, {name: found for name, found
                              in self.shown.items() if found})
        defaults = self.read()
        self.assertEqual(sorted(defaults), sorted(options))
        self.assertEqual(PolicyOptions(), PolicyOptions.from_conf(options))
        self.assertEqual({}, primary_role_policies(
            {'policy_config': {'0': options}}, None))

    def test_the_filter_has_the_options_and_defaults_that_are_shown(self):
        shown = self.shown['filter:versioning']
        sites = {'site': 'here', 'site_preference': 'here'}
        conf = RecordingConf(sites)
        options = FilterOptions.from_conf(conf)
        self.assertEqual(sorted(set(conf.defaults) - {'swift_dir'}),
                         sorted(shown))
        self.assertEqual(options, FilterOptions.from_conf(
            dict(shown, **sites)))

    def test_what_is_set_names_our_class(self):
        found = sample(SET, PROXY_SAMPLE)
        self.assertIs(middleware.filter_factory, load_pkg_resource(
            'paste.filter_factory', found.pop('filter:versioning')['use']))
        self.assertEqual({'app:proxy-server': {
            'use': 'egg:swift-lightsync#proxy'}, self.section: {},
            'filter:s3api': {'subresource_controllers':
                             'egg:swift-lightsync#lifecycle'}}, found)
        self.assertIs(proxy_server.app_factory, load_pkg_resource(
            'paste.app_factory', found['app:proxy-server']['use']))
