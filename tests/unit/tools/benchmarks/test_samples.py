# SPDX-License-Identifier: Apache-2.0
"""The workloads of etc/cosbench, made smaller for ``bench samples``."""

import os
import unittest
import xml.etree.ElementTree as ET

from cosbench import adaptors
from cosbench.document.reader import read
from tools import REPO
from tools.benchmarks import samples

#: What is for no system of ours in particular.
OTHERS = ('mock', 'operations-s3', 'operations-swift', 'paper-a', 'paper-b',
          'paper-c', 'paper-d')


class TestSamples(unittest.TestCase):

    def test_each_sample_of_a_system_is_played(self):
        there = {os.path.splitext(each)[0] for each in os.listdir(
            os.path.join(REPO, 'etc/cosbench')) if each.endswith('.xml')}
        self.assertEqual(there, {*samples.SAMPLES, *OTHERS})

    def test_a_document_stays_a_workload_and_its_parts_fit(self):
        for name in samples.SAMPLES:
            text, stages = samples.document(
                name, 'username=a;password=b;auth_url=http://h/', 'p', 7, 500)
            read(text, adaptors.installed())
            root = ET.fromstring(text)
            self.assertEqual('policy=p', root.find('storage').get('config'))
            timed = [each for each in root.iter('work')
                     if each.get('type', 'normal') == 'normal']
            self.assertEqual(len(timed), len(stages))
            self.assertEqual(len(set(stages)), len(stages))
            for each in timed:
                self.assertTrue(each.get('runtime') == '7' or
                                each.get('totalOps') == '140', name)

    def test_numbers_shrink_alike(self):
        for text, expected in (
                ('containers=u(1,64);objects=u(1,4000);hashCheck=true',
                 'containers=u(1,4);objects=u(1,200);hashCheck=true'),
                ('objects=r(4001,5000)', 'objects=r(201,250)'),
                ('objects=r(5001,9000)', 'objects=r(251,450)'),
                ('objects=hot(1,1000,2,98)', 'objects=hot(1,50,2,98)'),
                ('objects=zipf(1,10)', 'objects=zipf(1,1)'),
                ('sizes=c(64)MiB', 'sizes=c(4)MiB'),
                ('sizes=c(4)KiB', 'sizes=c(4)KiB')):
            self.assertEqual(expected, samples.scaled(text, 500))
