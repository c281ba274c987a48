# SPDX-License-Identifier: Apache-2.0
"""Sends requests through container_sync.

Prints, as JSON, the status of each answer, and whether a container was looked
up for it.
"""

import json
import os
import sys
from unittest import mock

import swift
from swift.common.middleware import container_sync
from swift.common.swob import Request, Response

NONCE, KEY, USER_KEY = 'nonce', 'realm key', 'user key'


def main(root, requests):
    with open(os.path.join(root, 'container-sync-realms.conf'), 'w',
              encoding='ascii') as conf:
        conf.write('[realm]\nkey = %s\n' % KEY)
    filter_ = container_sync.ContainerSync(Response(), {'swift_dir': root})
    looked_up = []

    def info(environ, app, swift_source=None):
        looked_up.append(environ['PATH_INFO'])
        found = {'sync_key': USER_KEY, 'sysmeta': {}}
        if 'versioned' in environ['PATH_INFO']:
            found['sysmeta'] = {'versions-container': 'hidden'}
        return found
    answers = []
    with mock.patch.object(container_sync, 'get_container_info', info):
        for method, path, headers in json.loads(requests):
            path = '/v1/a/' + path
            signed = filter_.realms_conf.get_sig(method, path, '0', NONCE,
                                                 KEY, USER_KEY)
            looked_up.clear()
            resp = Request.blank(path, method=method, headers={
                name: value.replace('right', signed)
                for name, value in headers.items()}).get_response(filter_)
            answers.append((resp.status_int, bool(looked_up)))
    print(json.dumps({'swift': swift.__file__, 'answers': answers}))


main(*sys.argv[1:])
