# SPDX-License-Identifier: Apache-2.0
"""Two sites on which all systems are at work, for Swift's functional tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from tools import ToolError
from tools.cluster.cli import main
from tools.cluster.sites import Sites

#: What the tests are told: the users are those of tools/cluster/conf.py.
CONF = """\
[s3api_test]
endpoint = {endpoint}
region = us-east-1
access_key1 = test:tester
secret_key1 = testing
access_key2 = test:tester2
secret_key2 = testing2
access_key3 = test:tester3
secret_key3 = testing3
[func_test]
auth_uri = {auth}
account = test
username = tester
password = testing
s3_access_key = test:tester
s3_secret_key = testing
account2 = test2
username2 = tester2
password2 = testing2
username3 = tester3
password3 = testing3
s3_access_key2 = test:tester2
s3_secret_key2 = testing2
s3_access_key3 = test:tester3
s3_secret_key3 = testing3
account6 = admin
username6 = admin
password6 = admin
collate = C
"""


@contextmanager
def all_systems() -> Iterator[dict[str, str]]:
    """Run the sites of ``tools/saio --all``.

    :returns: (as a context) the environment variables that tell the tests of
        the first site
    :raises ToolError: if they do not start
    """
    with TemporaryDirectory(prefix='ls-') as root:
        if main(['--dir', root, '--all', 'up']):
            raise ToolError('the sites in %s do not start' % root)
        sites = Sites.open(root)
        try:
            auth = sites.clusters[sites.names[0]].environment()['ST_AUTH']
            conf = Path(root, 'test.conf')
            conf.write_text(CONF.format(
                auth=auth, endpoint='http://' + urlsplit(auth).netloc))
            yield {'SWIFT_TEST_CONFIG_FILE': str(conf)}
        finally:
            sites.destroy()
