# SPDX-License-Identifier: Apache-2.0
"""The command line of the fuzzer: ``tools/fuzz``.

It has atheris fuzz targets, which is libFuzzer led by the coverage of ours:
each in a child process, for libFuzzer never returns, and a parser that hangs
or takes all memory ends it.
"""

import argparse
import contextlib
import faulthandler
import functools
import io
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import tracemalloc
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import psutil

from tools.arguments import names, number
from tools.fuzzing.mutate import mutate
from tools.fuzzing.target import Checker

try:
    import atheris
except ImportError:
    # Only fuzzing needs it: replaying does not.
    atheris = None

#: The modules of targets.
GROUPS = ('messages', 'documents', 'versions', 'workloads', 'responses',
          'results', 'drivers', 'losf')
PACKAGES = ['swift_lightsync', 'swift_losf', 'cosbench']
#: Bytes of the longest input that is mutated.
LONGEST = 1 << 16
#: Seconds after which a parser is stopped.
HANGS = 300
#: Bytes of address space that a parser may take besides what there was.
ADDRESS_SPACE = 2 << 30

#: What a child did: numbers, a list of Findings, and the time it took.
Report = namedtuple('Report', 'accepted outcomes findings seconds')


class Lost(Exception):
    """A child that ended before its inputs did, with what it said."""


@functools.cache
def targets():
    """Return all targets by name, imported so that atheris sees our code."""
    with contextlib.ExitStack() as stack:
        if atheris:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(atheris.instrument_imports(include=PACKAGES))
        return {target.name: target for group in GROUPS for target in
                import_module('tools.fuzzing.' + group).TARGETS}


@contextlib.contextmanager
def bounded_memory():
    """Trace what this process allocates, and bound its address space."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (
        psutil.Process().memory_info().vms + ADDRESS_SPACE, before[1]))
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, before)


def fuzz(target, inputs, seed, findings):
    """Fuzz one target in a child.

    :param target: of ``targets()``
    :param inputs: how many
    :param seed: an integer; all inputs follow from it
    :param findings: the directory for the input at which the child ended
    :returns: a Report
    :raises Lost: if the child ended before
    """
    fork = multiprocessing.get_context('fork')
    receiver, sender = fork.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix='fuzz-') as work:
        child = fork.Process(target=_child, args=(
            target, inputs, seed, sender, Path(work), findings))
        child.start()
        sender.close()
        try:
            return receiver.recv()
        except EOFError:
            said = Path(work, 'log').read_text(errors='replace')
            raise Lost(said[-3000:]) from None
        finally:
            child.join()


def _child(target, inputs, seed, sender, work, findings):
    log = os.open(work / 'log', os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # What is left there when the child is ended is removed with it.
    tempfile.tempdir = str(work)
    corpus = work / 'corpus'
    corpus.mkdir()
    for place, data in enumerate(target.examples):
        (corpus / str(place)).write_bytes(data)
    checker, begin = Checker(target), time.monotonic()

    def feed(data):
        checker.feed(data)
        if checker.inputs >= inputs:
            sender.send(Report(
                checker.accepted, len(checker.outcomes), checker.findings,
                time.monotonic() - begin))
            os._exit(0)

    def change(data, size, seed):
        return mutate(random.Random(seed), target, data, lambda _, each:
                      atheris.Mutate(each, size))[:size]

    with bounded_memory():
        for data in target.large():
            feed(data)
        atheris.Setup([
            sys.argv[0], '-seed=%d' % (seed % 0xffffffff + 1),
            '-max_len=%d' % min(target.longest, LONGEST),
            '-timeout=%d' % HANGS,
            '-rss_limit_mb=%d' % (ADDRESS_SPACE >> 20),
            '-artifact_prefix=%s/%s-' % (findings, target.name),
            str(corpus)], feed, custom_mutator=change)
        atheris.Fuzz()


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
        report = fuzz(target, inputs, seed, directory)
    except Lost as err:
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
    faulthandler.dump_traceback_later(HANGS, exit=True)
    with bounded_memory():
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
    known = targets()
    parser = _parser(known)
    args = parser.parse_args(argv)
    chosen = [known[name] for name in args.target]
    if args.replay:
        if len(chosen) != 1:
            parser.error('--replay needs one --target')
        return 1 if _replay(chosen[0], args.replay) else 0
    if not atheris:
        parser.error("atheris is not installed: pip install -e '.[fuzz]'")
    seed = args.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
    print('seed %d' % seed, flush=True)
    return 1 if _fuzz(chosen, args.inputs, seed, args.findings) else 0
