# SPDX-License-Identifier: Apache-2.0
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
