# SPDX-License-Identifier: Apache-2.0
"""``keystone``: Identity API v3, with the keys that COSBench had for v2.

====================================  =====================================
key                                   here
====================================  =====================================
auth_url, url                         with or without /v2.0, /v3, /tokens
username, password                    the user, in user_domain
usertoken                             instead of both: a token; what it gives
                                      expires with it
tenant_name, tenname, project_name    the project, in project_domain
tenant_id, project_id                 the same by its id
service                               name or type in the catalog; swift
region, interface                     of the endpoint: any, public
user_domain, project_domain           names; default: the id ``default``
====================================  =====================================
"""

import json
import re

from cosbench.adaptors.base import Credentials
from cosbench.adaptors.http_auth import HttpAuth, header

#: What people write at the end of the URL of either version.
_VERSION = re.compile(r'(/v2\.0|/v3)?(/auth)?(/tokens)?$')
_OBJECT_STORE = 'object-store'


class Keystone(HttpAuth):
    """Logs in by Identity API v3.

    :param config: see above, and ``HttpAuth``
    """

    def __init__(self, config):
        super().__init__(config, timeout=10000)
        # A token that was got for a token expires with it.
        self.renewable = not config.text('usertoken', '')
        self._target = _VERSION.sub('', self._url.path, 1) \
            + '/v3/auth/tokens'
        self._request = json.dumps({'auth': _question(config)}).encode()
        self._service = config.text('service', 'swift')
        self._region = config.text('region', '')
        self._interface = config.text('interface', 'public')

    async def login(self):
        response, answer = await self.ask(
            b'POST', self._target, [('Content-Type', 'application/json')],
            self._request)
        token = header(response, b'x-subject-token')
        if not token:
            raise self.refusal('the answer lacks X-Subject-Token')
        try:
            catalog = json.loads(answer)['token'].get('catalog', ())
            return Credentials(token, self._endpoint(catalog))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self.refusal('the answer is not that of Identity API v3') \
                from None

    def _endpoint(self, catalog):
        """Return the URL of the storage.

        None: the catalog is empty, the storage's config must have it.
        """
        if not catalog:
            return None
        named = [each for each in catalog
                 if self._service in (each.get('name'), each['type'])]
        if not named and self._service == 'swift':
            named = [each for each in catalog
                     if each['type'] == _OBJECT_STORE]
        for each in named:
            for endpoint in each['endpoints']:
                if endpoint['interface'] == self._interface and \
                        self._region in ('', endpoint.get('region'),
                                         endpoint.get('region_id')):
                    return endpoint['url']
        raise self.refusal('no endpoint in the catalog for service=%r, '
                           'region=%r, interface=%r' % (
                               self._service, self._region,
                               self._interface))


def _first(config, *keys):
    for key in keys:
        if config.text(key, ''):
            return config[key]
    return None


def _domain(config, key):
    name = config.text(key, '')
    return {'name': name} if name else {'id': 'default'}


def _question(config):
    """Return the ``auth`` of the request."""
    token = config.text('usertoken', '')
    if token:
        identity = {'methods': ['token'], 'token': {'id': token}}
    else:
        identity = {'methods': ['password'], 'password': {'user': {
            'name': config.text('username'),
            'password': config.text('password'),
            'domain': _domain(config, 'user_domain')}}}
    question = {'identity': identity}
    number = _first(config, 'tenant_id', 'project_id')
    name = _first(config, 'tenant_name', 'tenname', 'project_name')
    if number:
        question['scope'] = {'project': {'id': number}}
    elif name:
        question['scope'] = {'project': {
            'name': name, 'domain': _domain(config, 'project_domain')}}
    return question
