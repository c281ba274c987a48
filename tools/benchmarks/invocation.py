# SPDX-License-Identifier: Apache-2.0
"""What all benchmarks have in one invocation: options, directory, progress."""

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager

from tools.benchmarks.errors import require


def add_output(parser, kept):
    """
    Add the options that every benchmark has.

    :param parser: an argparse parser
    :param kept: what --keep keeps
    """
    parser.add_argument('--json', metavar='FILE',
                        help='write all records there')
    parser.add_argument('--keep', action='store_true',
                        help='keep the directory of the clusters: ' + kept)


def check_json(path):
    """
    :param path: of --json, or None
    :raises BenchError: if nothing can be written there
    """
    if path:
        require('--json', repr(path), 'a file in a directory that exists',
                os.path.isdir(os.path.dirname(path) or '.'))


@contextmanager
def directory(benchmark, keep):
    """
    :param benchmark: its name
    :param keep: whether the directory stays
    :returns: a context with the path of a directory for everything
    """
    root = tempfile.mkdtemp(prefix='bench-%s-' % benchmark)
    try:
        yield root
    finally:
        if keep:
            print('kept: %s' % root, file=sys.stderr)
        else:
            shutil.rmtree(root)


class Invocation:
    """
    One invocation of a benchmark. ``failures``, texts, are what went wrong.

    :param settings: the Settings
    :param root: a directory for everything
    """

    def __init__(self, settings, root):
        self.settings = settings
        self.root = root
        self.failures = []
        self._begin = time.monotonic()

    def say(self, text):
        """Report progress."""
        print('%6.1f s  %s' % (time.monotonic() - self._begin, text),
              file=sys.stderr, flush=True)

    def status(self, word):
        """
        Tell the failures.

        :param word: what they are called
        :returns: the exit status
        """
        for failure in self.failures:
            print('%s: %s' % (word, failure), file=sys.stderr)
        return 1 if self.failures else 0
