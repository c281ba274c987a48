# SPDX-License-Identifier: Apache-2.0
"""etc/container-server.conf-sample and versioning-sites.conf-sample."""

import os
import re
import unittest
from array import array
from tempfile import TemporaryDirectory

from swift.common.ring import RingData

from swift_lightsync.container_server import ContainerController
from swift_lightsync.versioning.sites.local_data import make_client
from swift_lightsync.versioning.sites.options import (
    PropagatorOptions,
    SiteOptions,
    load,
)
from swift_lightsync.versioning.sites.propagator import SECTION
from tests.unit.sync.fixtures import SwiftTestCase, node
from tests.unit.test_conf_sample import ETC, SET, SHOWN, sample

CONTAINER_SAMPLE = os.path.join(ETC, 'container-server.conf-sample')
SITES_SAMPLE = os.path.join(ETC, 'versioning-sites.conf-sample')
#: Read where they are used, and by others than PropagatorOptions.
ELSEWHERE = {'sites_conf': '', 'internal_client_conf_path': ''}


class TestContainerSample(unittest.TestCase):

    def setUp(self):
        self.shown = sample(SHOWN, CONTAINER_SAMPLE)
        self.set = sample(SET, CONTAINER_SAMPLE)[SECTION]

    def test_the_container_server_has_the_default_that_is_shown(self):
        self.assertLessEqual({'app:container-server', SECTION},
                             set(self.shown))
        shown = self.shown['app:container-server']
        self.assertEqual({'max_clock_skew'}, set(shown))
        self.assertEqual(float(shown['max_clock_skew']),
                         ContainerController({}).max_clock_skew)
        self.assertEqual('egg:swift-lightsync#container', sample(
            SET, CONTAINER_SAMPLE)['app:container-server']['use'])

    def test_the_propagator_has_the_options_and_defaults_that_are_shown(self):
        options = self.shown[SECTION]
        for name, value in ELSEWHERE.items():
            self.assertEqual(value, options.pop(name))
        self.assertEqual(sorted(vars(PropagatorOptions())), sorted(options))
        self.assertEqual(PropagatorOptions(),
                         PropagatorOptions.from_conf(options))

    def test_what_is_set_is_accepted(self):
        self.assertEqual({'site', 'site_preference'}, set(self.set))
        found = SiteOptions.from_conf(self.set)
        self.assertEqual('/etc/swift/versioning-sites.conf',
                         found.sites_conf)

    def test_the_sites_of_the_samples_fit(self):
        site = self.set['site']
        self.assertEqual(['paris'], list(load(SITES_SAMPLE, site)))
        self.assertIn('paris', SiteOptions.from_conf(
            dict(self.set, sites_conf=SITES_SAMPLE)).peers())

    def test_each_option_is_explained_before_it_stands(self):
        for path in (CONTAINER_SAMPLE, SITES_SAMPLE):
            with open(path, encoding='utf8') as lines:
                paragraphs = re.split(r'\n#?\n', lines.read())
            for each in paragraphs:
                if re.search(r'^(# )?\w+ = ?', each, re.M):
                    first = next(line for line in each.splitlines()
                                 if not line.startswith('['))
                    self.assertRegex(first, r'^# \S+ \S+')
                    self.assertNotRegex(first, r'^# \w+ = ')


class TestBuiltInClient(SwiftTestCase):

    def test_it_finds_the_rings_where_the_propagator_does(self):
        root = self.enterContext(TemporaryDirectory())
        for name in 'account', 'container', 'object':
            RingData([array('H', [0, 0])], [node(0, 1, 'sda')], 31).save(
                os.path.join(root, name + '.ring.gz'))
        proxy = make_client('', SECTION, root).app._pipeline_final_app
        self.assertEqual(root, proxy.swift_dir)
        self.assertEqual(1, proxy.container_ring.get_nodes('a', 'c')[1][0][
            'port'])
