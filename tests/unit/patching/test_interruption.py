# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-patch: killed, denied, or beside another run."""

import fcntl
import os
import resource
import signal
import subprocess
import sys

import pytest

from swift_lightsync import patcher
from tests.unit.patching.trees import PATCHES, PATHS, REPLICATOR, contents, run

KILLED = """
import os, signal, sys
from swift_lightsync import patcher

def counted(real, last=int(sys.argv[2])):
    calls = []
    def call(*args):
        calls.append(args)
        if len(calls) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return call

setattr(os, sys.argv[1], counted(getattr(os, sys.argv[1])))
patcher.main(sys.argv[3:])
"""


def command(action, tree, prefix=(), **kwargs):
    """Run the command in a process of its own."""
    return subprocess.run(
        [*prefix, sys.executable, '-m', 'swift_lightsync.patcher', action,
         '--target', tree], text=True, stderr=subprocess.PIPE, **kwargs)


@pytest.mark.parametrize('then', ['apply', 'revert'])
@pytest.mark.parametrize('action', ['apply', 'revert'])
@pytest.mark.parametrize('call, count', [
    ('fsync', 1), ('fsync', len(PATHS)),
    *(('replace', count) for count in range(1, len(PATHS) + 1))])
def test_killed_run_leaves_whole_files_and_the_next_run_completes(
        tree, call, count, action, then):
    before = contents(tree)
    run('apply', tree)
    after = contents(tree)
    if action == 'apply':
        run('revert', tree)
    done = subprocess.run([sys.executable, '-c', KILLED, call, str(count),
                           action, '--target', tree])
    assert done.returncode == -signal.SIGKILL
    assert any(name not in before for name in contents(tree))
    now = {name: (tree / name).read_bytes() for name in PATHS}
    assert all(now[name] in (before[name], after[name]) for name in PATHS)
    if call == 'replace' and count > 1:
        assert {now[name] == before[name] for name in PATHS} == {True, False}
        assert run('check', tree) == 2
    levels = {state.path: state.level
              for state in patcher.inspect(tree, PATCHES)}
    # No replicator is left without the diskfile that it calls.
    assert levels['swift/obj/diskfile.py'] or not levels[REPLICATOR]
    assert run(then, tree) == 0
    assert contents(tree) == (after if then == 'apply' else before)


@pytest.mark.parametrize('action, again', [('apply', 'revert'),
                                           ('revert', 'apply')])
def test_read_only_tree_is_refused_unless_nothing_is_to_do(
        tree, action, again):
    run(again, tree)
    before = contents(tree)
    prefix = []
    if os.geteuid() == 0:
        prefix = [
            'unshare', '--mount', 'sh', '-ec',
            'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"',
            tree]
    else:
        for path in [tree, *tree.rglob('*')]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    done = command(action, tree, prefix)
    assert done.returncode == 2
    assert 'cannot be written' in done.stderr
    assert contents(tree) == before
    done = command(again, tree, prefix)
    assert (done.returncode, done.stderr) == (0, '')


def test_write_that_fails_leaves_nothing(tree):
    before = contents(tree)
    largest = max(len(before[name]) for name in PATHS)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    done = command('apply', tree, preexec_fn=limit)
    assert done.returncode == 2
    assert 'cannot be written' in done.stderr
    assert 'Traceback' not in done.stderr
    assert contents(tree) == before


def test_tree_that_another_run_has_is_refused(tree, assert_refused):
    with open(tree / 'swift/__init__.py') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_refused(['another process'], 'apply', tree)
        assert run('check', tree) == 1
    assert run('apply', tree) == 0
