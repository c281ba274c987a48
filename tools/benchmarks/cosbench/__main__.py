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
"""``python -m tools.benchmarks.cosbench``"""

import argparse
import sys

from tools.benchmarks.cosbench import command
from tools.benchmarks.errors import BenchError


def main(argv=None):
    """
    :param argv: the arguments, without the program's name
    :returns: the exit status: 0; 1 if something could not be measured; 2
        for an argument that is not allowed
    """
    parser = argparse.ArgumentParser(
        prog='python -m tools.benchmarks.cosbench',
        description=command.HELP,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    command.add_arguments(parser)
    try:
        return command.run(parser.parse_args(argv))
    except BenchError as err:
        print('bench cosbench: %s' % err, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
