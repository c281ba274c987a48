# SPDX-License-Identifier: Apache-2.0
"""Which controllers s3api chooses, with subresource_controllers set so."""

import json
import sys
from email.utils import formatdate

import swift
from swift.common.middleware.s3api.s3api import filter_factory
from swift.common.middleware.s3api.s3request import S3Request

option, paths = sys.argv[1], sys.argv[2:]
conf = {'subresource_controllers': option} if option else {}
try:
    s3api = filter_factory({}, **conf)(None)
except ValueError as err:
    print(json.dumps({'swift': swift.__file__, 'error': str(err)}))
    sys.exit()
chosen = []
for path in paths:
    request = S3Request({
        'REQUEST_METHOD': 'GET', 'PATH_INFO': path.partition('?')[0],
        'QUERY_STRING': path.partition('?')[2], 'SERVER_NAME': 'localhost',
        'HTTP_DATE': formatdate(),
        'HTTP_AUTHORIZATION': 'AWS test:tester:hmac'}, conf=s3api.conf)
    chosen.append('%s:%s' % (request.controller.__module__,
                             request.controller.__name__))
print(json.dumps({'swift': swift.__file__, 'controllers': chosen}))
