# SPDX-License-Identifier: Apache-2.0
"""The command line of the fuzzer: ``tools/fuzz``."""

import argparse
import faulthandler
import random
from pathlib import Path

from tools.arguments import names, number
from tools.fuzzing import engine
from tools.fuzzing.target import Checker


def _parser(targets):
    parser = argparse.ArgumentParser(
        prog='fuzz', description='Feed bytes to every parser that takes '
        'bytes from the network or from a disk, and report each input that '
        'raises anything but the documented error, takes too much time or '
        'memory, or is accepted without being what its contents encode to.')
    add = parser.add_argument
    add('--inputs', type=number(1), default=1000000,
        help='of all targets together; default 1,000,000')
    add('--target', type=names(targets), default=list(targets),
        metavar='NAME,...', help='of %s; default all' % ', '.join(targets))
    add('--seed', type=int, help='default: one by chance, which is printed')
    add('--findings', metavar='DIR', type=Path, default='fuzz-findings',
        help='where inputs that were found are put; default fuzz-findings')
    add('--replay', metavar='FILE', type=Path,
        help='feed this input to one target')
    return parser


def _say_found(name, problem, path):
    print('FOUND %s: %s\n      tools/fuzz --target %s --replay %s'
          % (name, problem, name, path), flush=True)


def _fuzz_one(target, inputs, seed, directory):
    """Fuzz a target, print the findings and return how many they are."""
    before = set(directory.iterdir())
    try:
        report = engine.fuzz(target, inputs, seed, directory)
    except engine.Lost as err:
        # libFuzzer has left the input there at which it ended.
        paths = sorted(set(directory.iterdir()) - before) or [
            '(no input was kept)']
        for path in paths:
            _say_found(target.name, 'the fuzzer ended:\n%s' % err, path)
        return len(paths)
    print('%-16s %8d inputs, %7d accepted, %4d outcomes, %d findings, %.0f s'
          % (target.name, inputs, report.accepted, report.outcomes,
             len(report.findings), report.seconds), flush=True)
    for place, finding in enumerate(report.findings):
        path = directory / ('%s-%d-%d' % (target.name, seed, place))
        path.write_bytes(finding.data)
        _say_found(target.name, finding.problem, path)
    return len(report.findings)


def _fuzz(targets, inputs, seed, directory):
    directory.mkdir(parents=True, exist_ok=True)
    findings = 0
    for index, target in enumerate(targets):
        share = (inputs * (index + 1) // len(targets)
                 - inputs * index // len(targets))
        if share:
            findings += _fuzz_one(target, share, seed, directory)
    if not any(directory.iterdir()):
        directory.rmdir()
    print('%d inputs, %d findings' % (inputs, findings))
    return findings


def _replay(target, path):
    data, checker = path.read_bytes(), Checker(target)
    # A parser that hangs ends with status 1, too.
    faulthandler.dump_traceback_later(engine.HANGS, exit=True)
    with engine.bounded_memory():
        print(checker.feed(data))
    faulthandler.cancel_dump_traceback_later()
    for finding in checker.findings:
        print('FOUND %s: %s' % (target.name, finding.problem))
    return len(checker.findings)


def main(argv=None):
    """Fuzz, or replay an input.

    :param argv: the arguments; default: the process's
    :returns: exit status: 0, 1 if something was found
    """
    targets = engine.targets()
    parser = _parser(targets)
    args = parser.parse_args(argv)
    chosen = [targets[name] for name in args.target]
    if args.replay:
        if len(chosen) != 1:
            parser.error('--replay needs one --target')
        return 1 if _replay(chosen[0], args.replay) else 0
    if not engine.atheris:
        parser.error("atheris is not installed: pip install -e '.[fuzz]'")
    seed = args.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
    print('seed %d' % seed, flush=True)
    return 1 if _fuzz(chosen, args.inputs, seed, args.findings) else 0
