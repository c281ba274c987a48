# SPDX-License-Identifier: Apache-2.0
"""The command line: ``tools/bench BENCHMARK [options]``."""

import argparse
import signal
import sys

from tools.benchmarks.cosbench import command as cosbench
from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf import command as losf
from tools.benchmarks.proar import command as proar
from tools.benchmarks.sync import command as sync
from tools.benchmarks.versioning import command as versioning
from tools.cluster import ClusterError

#: benchmark -> its module: HELP, add_arguments(parser), run(args) -> status
BENCHMARKS = {'sync': sync, 'losf': losf, 'proar': proar,
              'versioning': versioning, 'cosbench': cosbench}


def _parser():
    parser = argparse.ArgumentParser(
        prog='bench', description='Measures this project against stock '
        'Swift, and the HTTP client of COSBench\'s drivers against aiohttp, '
        'side by side; it makes the clusters, and removes them.')
    benchmarks = parser.add_subparsers(dest='benchmark', required=True,
                                       metavar='BENCHMARK')
    for name, module in BENCHMARKS.items():
        benchmark = benchmarks.add_parser(
            name, help=module.HELP, description=module.HELP,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        module.add_arguments(benchmark)
    return parser


def main(argv=None):
    """
    :param argv: the arguments, without the program's name
    :returns: the exit status: 0; 1 if something could not be measured; 2
        for an argument that is not allowed or a cluster that does not run
    """
    args = _parser().parse_args(argv)
    # So that the clusters are removed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return BENCHMARKS[args.benchmark].run(args)
    except (BenchError, ClusterError) as err:
        print('bench %s: %s' % (args.benchmark, err), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
