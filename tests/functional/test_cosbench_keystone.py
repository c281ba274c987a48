# SPDX-License-Identifier: Apache-2.0
"""``keystone`` of cosbench, with a real Keystone and a Swift that asks it: who
is let in, where the storage is, and tokens that expire in the middle of a run.
Installing takes minutes (tests/functional/keystone.py).
"""

import json
import os
import tempfile
import time
import unittest

import pytest

from cosbench.measure.result import Result
from tests.functional.keystone import PASSWORD, REGION, Keystone
from tests.functional.served import ask
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.processes import cosbench
from tests.waiting import wait_for
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port
from tools.cluster.conf import PIPELINE

#: Seconds that a token is good for, and that the longest run takes.
EXPIRATION, RUNTIME = 30, 75
#: Nobody listens there.
NOWHERE = 'http://127.0.0.1:1/v1/AUTH_%(tenant_id)s'
DEADLINE = 300
INIT = '<work type="init" workers="1" config="containers=c(1);cprefix=%s;' \
    'cheader.X-Container-Meta-Color=blue"/>'


@pytest.mark.long
class TestKeystone(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = cls.enterClassContext(tempfile.TemporaryDirectory(
            prefix='ks-'))
        os.mkdir(os.path.join(root, 'keystone'))
        cls.keystone = Keystone(os.path.join(root, 'keystone'), EXPIRATION)
        cls.addClassCleanup(cls.keystone.stop)
        cls.keystone.start()
        cls.cluster = Cluster(cls.spec(os.path.join(root, 'swift')))
        cls.addClassCleanup(cls.cluster.destroy)
        cls.cluster.up()
        cls.fill()

    @classmethod
    def spec(cls, root):
        """A small cluster with keystonemiddleware in its proxy."""
        return ClusterSpec(
            root=root, nodes=1, base_port=free_base_port(1),
            policies=(Policy('gold', 0, 1, part_power=4),), options={
                'proxy-server': {
                    'pipeline:main': {'pipeline': PIPELINE.replace(
                        's3api tempauth', 'authtoken keystoneauth')},
                    'filter:keystoneauth': {
                        'use': 'egg:swift#keystoneauth',
                        'operator_roles': 'member'},
                    'filter:authtoken': {
                        'paste.filter_factory':
                            'keystonemiddleware.auth_token:filter_factory',
                        'www_authenticate_uri': cls.keystone.url,
                        'auth_url': cls.keystone.url,
                        'auth_type': 'password', 'username': 'admin',
                        'password': PASSWORD, 'project_name': 'admin',
                        'user_domain_id': 'default',
                        'project_domain_id': 'default'}}})

    @classmethod
    def fill(cls):
        """Two users of one name in two domains, and a store that is to be
        found in one region, under one interface.
        """
        cls.domain = cls.keystone.create('domain', name='acme corp')
        cls.projects = {
            domain: cls.keystone.member('tester', 'te=' + domain, 'bench',
                                        domain)
            for domain in ('default', cls.domain)}
        cls.keystone.create('region', id='there')
        cls.address = ('127.0.0.1', cls.cluster.spec.port('proxy-server'))
        url = 'http://%s:%d/v1/AUTH_%%(tenant_id)s' % cls.address
        for name, region, interface, place in (
                ('swift', REGION, 'public', NOWHERE),
                ('swift', REGION, 'internal', NOWHERE),
                ('swift', 'there', 'public', NOWHERE),
                ('swift', 'there', 'internal', url),
                ('other', REGION, 'public', url)):
            if interface == 'public' and region == REGION:
                service = cls.keystone.create(
                    'service', type='object-store', name=name)
            cls.keystone.create(
                'endpoint', service_id=service, region_id=region,
                interface=interface, url=place)

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name

    def run_it(self, auth, *works, status=0):
        """:param auth: of its config, without the URL
        :returns: the ``Result`` of a run
        """
        document, result = (os.path.join(self.directory, name)
                            for name in ('w.xml', 'r.json'))
        with open(document, 'w', encoding='utf8') as stream:
            stream.write(wrapped(
                *works, above='<auth type="keystone" config="auth_url=%s/v3;'
                '%s"/><storage type="swift"/>' % (self.keystone.url, auth)))
        done = cosbench(
            'run', document, '--drivers', 1, '--quiet', '--json', result,
            '--archive', os.path.join(self.directory, 'archive'),
            timeout=DEADLINE)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        with open(result, encoding='utf8') as stream:
            found = Result.from_json(json.load(stream))
        self.assertEqual(status, done.returncode, [
            (stage.reason, work.name, [each.tally.failures
                                       for each in work.operations])
            for stage in found.stages for work in stage.works])
        return found

    def container(self, name, domain='default'):
        """:returns: the ``Answer`` to a HEAD of a container"""
        return ask(self.address, 'HEAD', '/v1/AUTH_%s/%s' % (
            self.projects[domain], name), headers={
                'X-Auth-Token': self.keystone.token(
                    'tester', 'te=' + domain, 'bench', domain)})

    def test_a_run_goes_on_when_its_tokens_expire(self):
        login = 'username=tester;password=te=default;tenant_name=bench;' \
            'service=other'
        self.run_it(login, INIT % 'renewed')
        result = self.run_it(login, work(
            operation('containers=c(1);cprefix=renewed;objects=u(1,9);'
                      'sizes=c(1)KB', 'write'),
            'workers="4" runtime="%d" config="rate=20"' % RUNTIME))
        tally = result.stages[0].works[0].operations[0].tally
        self.assertEqual(0, tally.failed)
        self.assertGreater(tally.count, 0)

    def test_an_expired_token_is_refused_for_good(self):
        """Else the run above would show nothing."""
        token = self.keystone.token('tester', 'te=default', 'bench')
        path = '/v1/AUTH_' + self.projects['default']

        def status():
            return ask(self.address, 'GET', path,
                       headers={'X-Auth-Token': token}).status
        begin = time.monotonic()
        self.assertIn(status(), (200, 204))
        wait_for(lambda: status() == 401, 'it expires', DEADLINE, pause=0.5)
        self.assertLess(time.monotonic() - begin, RUNTIME)

    def test_names_are_those_of_their_domains(self):
        self.run_it(
            'username=tester;password=te=%s;tenant_name=bench;service=other;'
            'user_domain=acme corp;project_domain=acme corp' % self.domain,
            INIT % 'theirs')
        found = self.container('theirs1', self.domain)
        self.assertEqual((204, 'blue'), (
            found.status, found.headers.get('x-container-meta-color')))
        self.assertEqual(404, self.container('theirs1').status)
        # Without their domain they are another's.
        result = self.run_it(
            'username=tester;password=te=%s;tenant_name=bench'
            % self.domain, INIT % 'nobodys', status=1)
        self.assertIn('401', result.stages[0].reason)

    def test_a_project_is_found_by_its_id(self):
        self.run_it('username=tester;password=te=default;service=other;'
                    'tenant_id=' + self.projects['default'], INIT % 'by-id')
        self.assertEqual(204, self.container('by-id1').status)

    def test_a_token_is_as_good_as_a_password(self):
        self.run_it(
            'usertoken=%s;tenant_name=bench;service=other' %
            self.keystone.token('tester', 'te=default', 'bench'),
            INIT % 'by-token')
        self.assertEqual(204, self.container('by-token1').status)

    def test_the_endpoint_is_that_of_the_region_and_interface(self):
        login = 'username=tester;password=te=default;tenant_name=bench;'
        self.run_it(login + 'region=there;interface=internal',
                    INIT % 'there')
        self.assertEqual(204, self.container('there1').status)
        for more, words in (('region=there', 'operations failed'),
                            ('interface=internal', 'operations failed'),
                            ('region=nowhere', "region='nowhere'")):
            result = self.run_it(login + more, INIT % 'there', status=1)
            self.assertIn(words, result.stages[0].reason)
