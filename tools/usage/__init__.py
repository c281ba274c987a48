# SPDX-License-Identifier: Apache-2.0
"""The help of the tools, as texts, so that it is there without an environment.

``tools/env python -m tools.usage`` writes them anew, from the parsers.
"""

import argparse
import importlib
import os
from unittest import mock

WIDTH = '80'
#: command below tools/ -> the module of its command line, and the commands
#: whose own help has a text too
TOOLS = {
    'bench': ('tools.benchmarks.cli', True),
    'chaos': ('tests.chaos.cli', False),
    'demo': ('tools.demonstration.cli', False),
    'fuzz': ('tools.fuzzing.cli', False),
    'package': ('tools.packages.cli', False),
    'saio': ('tools.cluster.cli', True),
    'simulate': ('tools.simulation.cli', False)}


class _Parsed(Exception):
    """A parser is complete; it is the argument."""


def parser_of(module: str) -> argparse.ArgumentParser:
    """Return the parser with which the main() of a module begins."""
    def stop(parser, *_args, **_kwargs):
        raise _Parsed(parser)

    main = importlib.import_module(module).main
    with mock.patch.object(argparse.ArgumentParser, 'parse_args', stop):
        try:
            main([])
        except _Parsed as found:
            return found.args[0]
    raise ValueError('%s.main() parses no arguments' % module)


def texts() -> dict[str, str]:
    """Return a dict of file name -> the help that is in it."""
    found = {}
    with mock.patch.dict(os.environ, COLUMNS=WIDTH):
        for name, (module, has_commands) in TOOLS.items():
            parser = parser_of(module)
            parser.prog = 'tools/' + name
            found[name] = parser.format_help()
            for action in parser._actions if has_commands else ():
                if isinstance(action, argparse._SubParsersAction):
                    for command, sub in action.choices.items():
                        sub.prog = 'tools/%s %s' % (name, command)
                        found['%s-%s' % (name, command)] = sub.format_help()
    return found
