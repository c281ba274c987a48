# SPDX-License-Identifier: Apache-2.0
"""swift_lightsync/versioning/proxy/middleware.py: a proxy whose pipeline would
keep versions wrongly does not start."""

import os
import unittest
from tempfile import TemporaryDirectory
from unittest import mock

from swift.common.wsgi import loadapp
from swift.proxy import server as stock

from swift_lightsync.common.options import OptionError
from swift_lightsync.proxy_server import Application

GOOD = 'slo dlo versioned_writes symlink versioning keymaster encryption proxy'
CONF = '''[pipeline:main]
pipeline = %s
[app:proxy]
use = egg:swift-lightsync#proxy
[app:stock]
use = egg:swift#proxy
[filter:versioning]
use = egg:swift-lightsync#versioning
site = rome
site_preference = rome
[filter:keymaster]
use = egg:swift#keymaster
encryption_root_secret = c2Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3M=
[filter:versioned_writes]
use = egg:swift#versioned_writes
[filter:both]
use = egg:swift#versioned_writes
allow_object_versioning = true
''' + ''.join('[filter:%s]\nuse = egg:swift#%s\n' % (name, name)
              for name in ('slo', 'dlo', 'symlink', 'encryption'))


class TestPipeline(unittest.TestCase):

    def load(self, pipeline):
        """Load a conf as a proxy-server does."""
        # Rings and storage policies are not what this is about.
        with TemporaryDirectory() as root, mock.patch.multiple(
                Application, __init__=lambda *args, **kwargs: None,
                check_config=mock.Mock()), mock.patch.multiple(
                stock.Application, __init__=lambda *args, **kwargs: None,
                check_config=mock.Mock()):
            path = os.path.join(root, 'proxy-server.conf')
            with open(path, 'w') as file:
                file.write(CONF % pipeline)
            return loadapp(path, allow_modify_pipeline=False)

    def test_the_documented_order_is_taken(self):
        self.load(GOOD)
        self.load('versioning proxy')

    def test_what_stands_wrong_is_named(self):
        for pipeline, *words in (
                ('versioning ' + GOOD.replace(' versioning', ''),
                 'right of', 'slo'),
                ('slo versioning symlink proxy', 'right of', 'symlink'),
                ('versioning dlo proxy', 'right of', 'dlo'),
                ('versioning versioned_writes proxy', 'versioned_writes'),
                ('encryption versioning proxy', 'left of encryption'),
                ('both symlink versioning proxy', '[filter:versioned_writes]',
                 'allow_object_versioning'),
                (GOOD.replace('proxy', 'stock'),
                 'egg:swift-lightsync#proxy', 'swift.proxy.server')):
            with self.subTest(pipeline), \
                    self.assertRaises(OptionError) as caught:
                self.load(pipeline)
            for word in words:
                self.assertIn(word, str(caught.exception))
