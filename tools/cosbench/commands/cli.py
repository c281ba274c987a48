# SPDX-License-Identifier: Apache-2.0
"""The command line of the benchmark: ``cosbench COMMAND``.

A command's module is imported when the command is asked for: help is there
at once, and a command needs only those libraries that it uses itself.
"""

import argparse
import importlib
import sys

from cosbench.errors import ArchiveError, ConfigError, WorkloadError
from swift_lightsync.common.command import require_extra, run, until_unread

#: What measures, and what speaks HTTP to drivers and browsers. Without uvloop
#: the library's event loop serves.
_MEASURES, _SERVES = ('hdrh',), ('hdrh', 'aiohttp')
#: Command -> (the module that adds its arguments, libraries that it needs,
#: what it is for).
COMMANDS = {
    'validate': ('validate', (), 'check workload files'),
    'run': ('run', _SERVES,
            'run one workload here, without controller or drivers'),
    'ramp': ('ramp', _SERVES,
             'run a workload with ever more workers, to the peak'),
    'experiment': ('experiment', _SERVES,
                   'run workloads several times each, and compare them'),
    'compare': ('compare', _MEASURES, 'compare two runs'),
    'watch': ('watch', _SERVES, 'tell controllers what this host does'),
    'driver': ('driver', _SERVES, 'make the load that a controller asks for'),
    'controller': ('controller', _SERVES,
                   'queue workloads and have drivers run them'),
    'submit': ('remote', (), 'have a controller run a workload'),
    'info': ('remote', (), 'show what a controller has, or one workload'),
    'cancel': ('remote', (), 'cancel a workload'),
    'result': ('remote', (), 'get the result document of a workload'),
}


def main(argv=None):
    """Run a command.

    :param argv: the arguments; default: the process's
    :returns: exit status; 2 for bad arguments
    """
    argv = sys.argv[1:] if argv is None else argv
    wanted = next((each for each in argv if each in COMMANDS), None)
    # Help may be left unread, too.
    with until_unread():
        return run(_parser(wanted), lambda args: args.run(args), argv,
                   bad_input=(ArchiveError, ConfigError, WorkloadError))


def _parser(wanted):
    """Return the parser of all commands.

    :param wanted: the command whose arguments it knows, or None
    """
    parser = argparse.ArgumentParser(
        prog='cosbench', description='Benchmark object storage with '
        'COSBench workloads.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    for name, (module, libraries, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words)
        if name == wanted:
            require_extra('cosbench', 'cosbench', *libraries)
            importlib.import_module('cosbench.commands.' + module).add(
                name, command)
    return parser
