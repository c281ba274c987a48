# SPDX-License-Identifier: Apache-2.0
"""Fuzzes targets with atheris, which is libFuzzer led by the coverage of ours.

Each target is fuzzed in a child process, for libFuzzer never returns, and a
parser that hangs or takes all memory ends it.
"""

import contextlib
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


@functools.lru_cache(maxsize=None)
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
    for number, data in enumerate(target.examples):
        (corpus / str(number)).write_bytes(data)
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
