# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The replicator daemon: Swift's, with LightSync's check in front."""

from optparse import OptionParser

from swift.common.daemon import run_daemon
from swift.common.utils import parse_options
from swift.obj import replicator


class LightSyncReplicator(replicator.ObjectReplicator):
    """Replicate objects as Swift does, finding differences by LightSync."""


def main():
    """``swift-object-lightsync``: the daemon without a patched Swift."""
    parser = OptionParser('%prog CONFIG [options]')
    for option, what in (('devices', '-d'), ('partitions', '-p'),
                         ('policies', '-i')):
        parser.add_option(what, '--' + option,
                          help='Replicate only the given %s, a '
                               'comma-separated list. Needs --once.' % option)
    conf_file, options = parse_options(parser=parser, once=True)
    run_daemon(LightSyncReplicator, conf_file,
               section_name='object-replicator', **options)


if __name__ == '__main__':
    main()
