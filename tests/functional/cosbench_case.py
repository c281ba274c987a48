# SPDX-License-Identifier: Apache-2.0
"""Workloads of COSBench, run on a cluster of one node with s3api."""

import json
import os
import re
import tempfile
import unittest
from tempfile import mkdtemp

from cosbench.measure.result import Result
from tests.functional.served import ask
from tests.unit.cosbench.documents import operation, work
from tests.unit.cosbench.processes import ROOT, cosbench
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

DEADLINE = 300
#: A slow machine is not a failure, and parts may be small.
OPTIONS = {
    'object-server': {'app:object-server': {'container_update_timeout': 120}},
    'proxy-server': {
        'app:proxy-server': {'conn_timeout': 30, 'node_timeout': 120,
                             'recoverable_node_timeout': 120},
        'filter:s3api': {'min_segment_size': 1}}}


def stage(name, *works):
    return '<workstage name="%s">%s</workstage>' % (name, ''.join(works))


def special(kind, config):
    return '<work type="%s" workers="2" config="%s"/>' % (kind, config)


def normal(kind, total, config, workers=2):
    return work(operation(config, kind, 'division="object"'),
                'workers="%d" totalOps="%d"' % (workers, total))


class DocumentsCase(unittest.TestCase):
    """Runs of one document after another."""

    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name

    def run_text(self, text, drivers=1):
        """Run a document whose operations must all succeed.

        :returns: a dict of (stage, row) -> ``OperationResult``
        """
        document, result = (os.path.join(self.directory, name)
                            for name in ('w.xml', 'r.json'))
        with open(document, 'w', encoding='utf8') as stream:
            stream.write(text)
        done = cosbench(
            'run', document, '--drivers', drivers, '--quiet', '--json',
            result, '--archive', os.path.join(self.directory, 'archive'),
            timeout=DEADLINE)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        with open(result, encoding='utf8') as stream:
            found = Result.from_json(json.load(stream))
        rows = {(each.name, row.id): row for each in found.stages
                for one in each.works for row in one.operations}
        self.assertEqual(({}, 0), ({
            key: row.tally.failures for key, row in rows.items()
            if row.tally.failures}, done.returncode), [
                each.reason for each in found.stages])
        return rows


class OperationsCase(DocumentsCase):
    """A cluster of one node, and runs of one document after another."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = Cluster(ClusterSpec(
            root=mkdtemp(prefix='co-'), base_port=free_base_port(1), nodes=1,
            policies=(Policy('gold', 0, 1, part_power=5),),
            replication_ports=False, options=OPTIONS))
        cls.addClassCleanup(cls.cluster.destroy)
        cls.cluster.up()
        cls.address = ('127.0.0.1', cls.cluster.spec.port('proxy-server'))
        answer = ask(cls.address, 'GET', '/auth/v1.0', headers={
            'X-Auth-User': 'test:tester', 'X-Auth-Key': 'testing'})
        cls.token = answer.headers['x-auth-token']

    def above(self, more=''):
        """Return the elements that say how to reach the cluster."""
        raise NotImplementedError

    def run_it(self, *stages, more='', drivers=1):
        """Run a document, as ``run_text``.

        :param more: of the config of the storage
        """
        return self.run_text(
            '<workload name="w">%s<workflow>%s</workflow></workload>' % (
                self.above(more), ''.join(stages)), drivers)

    def run_sample(self, name):
        """Run a document of etc/cosbench, shorter and on small objects."""
        with open(os.path.join(ROOT, 'etc/cosbench', name),
                  encoding='utf8') as stream:
            text = stream.read()
        for old, new in (
                (r'runtime="60"', 'runtime="3"'), (r'\)MiB', ')KiB'),
                (r'c\(1\)MB', 'c(1)KB'), (r'\(1,60000\)KB', '(1,60)KB'),
                (r'127\.0\.0\.1:8080', '%s:%d' % self.address)):
            text, found = re.subn(old, new, text)
            self.assertTrue(found, old)
        return self.run_text(text)

    def assertCounts(self, rows, expected):
        """:param expected: (stage, row) -> (operations, bytes)"""
        self.assertEqual(expected, {
            key: (rows[key].tally.count, rows[key].tally.bytes)
            for key in expected})

    def swift(self, method, path, **headers):
        return ask(self.address, method, '/v1/AUTH_test/' + path, headers={
            'X-Auth-Token': self.token,
            **{key.replace('_', '-'): value
               for key, value in headers.items()}})

    def listing(self, container, query=''):
        found = self.swift('GET', '%s?format=json%s' % (container, query))
        self.assertEqual(200, found.status)
        return json.loads(found.body)
