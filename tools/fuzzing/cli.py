# SPDX-License-Identifier: Apache-2.0
"""The command line of the fuzzer: ``tools/fuzz``."""

import argparse
import os
import random
import sys
import time

from tools.fuzzing.catalogue import TARGETS
from tools.fuzzing.runner import Fuzzer, limits

INPUTS = 1000000


def _targets(text):
    names = text.split(',')
    for name in names:
        if name not in TARGETS:
            raise argparse.ArgumentTypeError(
                '%r, must be of %s' % (name, ','.join(TARGETS)))
    return names


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError('%d, must be at least 1' % value)
    return value


def _parser():
    parser = argparse.ArgumentParser(
        prog='fuzz', description='Feed bytes to every parser that takes '
        'bytes from the network or from a disk, and report each input that '
        'raises anything but the documented error, takes too much time or '
        'memory, or is accepted without being what its contents encode to.')
    add = parser.add_argument
    add('--inputs', type=_positive, default=INPUTS,
        help='of all targets together; default 1,000,000')
    add('--target', type=_targets, default=list(TARGETS),
        metavar='NAME,...', help='of %s; default all' % ', '.join(TARGETS))
    add('--seed', type=int, help='default: one by chance, which is printed')
    add('--findings', metavar='DIR', default='fuzz-findings',
        help='where inputs that were found are put; default fuzz-findings')
    add('--replay', metavar='FILE', help='feed this input to one target')
    return parser


def _progress(fuzzer, inputs, begin):
    def show(number):
        rate = number / max(time.monotonic() - begin, 1e-9)
        print('\r%-16s %8d of %d, %6.0f a second, %4d outcomes, %d findings'
              % (fuzzer.target.name, number, inputs, rate,
                 len(fuzzer.outcomes), len(fuzzer.findings)),
              end='', file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else lambda number: None


def _report(finding, directory):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, '%s-%d' % (finding.target,
                                              finding.number))
    with open(path, 'wb') as output:
        output.write(finding.data)
    print('FOUND %s, input %d: %s\n      tools/fuzz --target %s --replay %s'
          % (finding.target, finding.number, finding.problem,
             finding.target, path))


def _fuzz(names, inputs, seed, directory):
    findings = 0
    for index, name in enumerate(names):
        share = (inputs * (index + 1) // len(names)
                 - inputs * index // len(names))
        fuzzer = Fuzzer(TARGETS[name], seed)
        begin = time.monotonic()
        fuzzer.run(share, _progress(fuzzer, share, begin))
        print('%s%-16s %8d inputs, %7d accepted, %4d outcomes, %d findings, '
              '%.0f s' % ('\r' if sys.stderr.isatty() else '', name, share,
                          fuzzer.accepted, len(fuzzer.outcomes),
                          len(fuzzer.findings), time.monotonic() - begin),
              flush=True)
        for finding in fuzzer.findings:
            _report(finding, directory)
        findings += len(fuzzer.findings)
    print('%d inputs, %d findings' % (inputs, findings))
    return findings


def _replay(name, path):
    with open(path, 'rb') as source:
        data = source.read()
    fuzzer = Fuzzer(TARGETS[name], 0)
    with limits():
        print(fuzzer.feed(data))
    for finding in fuzzer.findings:
        print('FOUND %s: %s' % (name, finding.problem))
    return len(fuzzer.findings)


def main(argv=None):
    """
    :param argv: the arguments; default: the process's
    :returns: exit status: 0, 1 if something was found
    """
    parser = _parser()
    args = parser.parse_args(argv)
    if args.replay:
        if len(args.target) != 1:
            parser.error('--replay needs one --target')
        return 1 if _replay(args.target[0], args.replay) else 0
    seed = args.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
    print('seed %d' % seed, flush=True)
    return 1 if _fuzz(args.target, args.inputs, seed, args.findings) else 0
