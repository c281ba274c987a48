# SPDX-License-Identifier: Apache-2.0
"""The command line: ``tools/bench SYSTEM [options]``."""

import argparse
import sys
from importlib import import_module
from typing import Any

from swift_lightsync.common import command

#: system -> (module, class, what --help says)
SYSTEMS = {
    'sync': ('sync', 'Sync',
             'LightSync against the stock object replicator (root)'),
    'losf': ('losf', 'Losf',
             'objects in volumes against stock diskfiles (root)'),
    'proar': ('proar', 'Proar',
              'primary-role writes against writes to a quorum (root)'),
    'versioning': ('versioning', 'Versioning', 'versions of Write-Repair '
                   "and Read-Repair against Swift's own"),
    'samples': ('samples', 'Samples', 'the workloads of etc/cosbench on '
                'ours and on stock Swift (root)'),
    'cosbench': ('cosbench', 'Cosbench', 'requests per CPU second '
                 "of the HTTP client of COSBench's drivers")}


def main(argv: list[str] | None = None) -> int:
    """Run a benchmark.

    :param argv: the arguments, without the program's name
    :returns: the exit status: 0; 1 if something could not be measured; 2
        for an argument that is not allowed or a cluster that does not run
    """
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(
        prog='bench', description='Measure this project against stock '
        "Swift, and the HTTP client of COSBench's drivers against aiohttp, "
        'side by side; it makes the clusters, and removes them.')
    systems = parser.add_subparsers(dest='system', required=True,
                                    metavar='SYSTEM')
    for name, (_, _, text) in SYSTEMS.items():
        system = systems.add_parser(
            name, help=text, description=text,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        # Only what is asked for: imports take seconds.
        if argv[:1] in ([name], []):
            _load(name).add_options(system)
    return command.run(
        parser, lambda args: _load(args.system)(args).run(), argv)


def _load(system: str) -> Any:
    module, name, _ = SYSTEMS[system]
    return getattr(import_module('tools.benchmarks.' + module), name)
