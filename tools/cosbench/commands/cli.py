# SPDX-License-Identifier: Apache-2.0
"""The command line of the benchmark: ``cosbench COMMAND``.

A command's module is imported when the command is asked for: help is there
at once, and a command needs only those libraries that it uses itself.
"""

import argparse
import importlib
import sys

from cosbench.commands.output import until_unread
from cosbench.errors import ArchiveError, ConfigError, WorkloadError

#: Command -> (the module that adds its arguments, what it is for).
COMMANDS = {
    'validate': ('validate', 'check workload files'),
    'run': ('run', 'run one workload here, without controller or drivers'),
    'ramp': ('ramp', 'run a workload with ever more workers, to the peak'),
    'compare': ('compare', 'compare two runs'),
    'driver': ('driver', 'make the load that a controller asks for'),
    'controller': ('controller',
                   'queue workloads and have drivers run them'),
    'submit': ('remote', 'have a controller run a workload'),
    'info': ('remote', 'show what a controller has, or one workload'),
    'cancel': ('remote', 'cancel a workload'),
    'result': ('remote', 'get the result document of a workload'),
}
#: Modules that the extra ``cosbench`` installs -> what is called so there.
EXTRA = {'aiohttp': 'aiohttp', 'hdrh': 'hdrhistogram'}


def main(argv=None):
    """
    Run a command.

    :param argv: the arguments; default: the process's
    :returns: exit status; 2 for bad arguments
    """
    with until_unread():
        return _run(sys.argv[1:] if argv is None else argv)


def _parser(wanted):
    """
    Return the parser of all commands.

    :param wanted: the command whose arguments it knows, or None
    :returns: an ``ArgumentParser``
    """
    parser = argparse.ArgumentParser(
        prog='cosbench', description='Benchmark object storage with '
        'COSBench workloads.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    for name, (module, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words)
        if name == wanted:
            importlib.import_module('cosbench.commands.' + module).add(
                name, command)
    return parser


def _run(argv):
    wanted = next((each for each in argv if each in COMMANDS), None)
    try:
        args = _parser(wanted).parse_args(argv)
        return args.run(args)
    except BrokenPipeError:
        raise
    except (ArchiveError, ConfigError, WorkloadError) as err:
        print('cosbench: %s' % err, file=sys.stderr)
        return 2
    except ModuleNotFoundError as err:
        if err.name not in EXTRA:
            raise
        print("cosbench: %s is not installed: pip install "
              "'swift-lightsync[cosbench]'" % EXTRA[err.name],
              file=sys.stderr)
        return 1
    except OSError as err:
        # A port that is taken, a full disk: the message has it all.
        print('cosbench: %s' % err, file=sys.stderr)
        return 1
