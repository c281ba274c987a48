# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-patch: what it does to a tree that is as it should be."""

import os
import shutil
import subprocess
import sys

import pytest

from swift_lightsync.patching import series
from tests.unit.patching.trees import PATCHES, PATHS, contents, make_tree, run


@pytest.mark.parametrize('kind', [
    'installed', 'sdist', pytest.param('checkout', marks=pytest.mark.skipif(
        shutil.which('git') is None, reason='needs git'))])
def test_apply_check_and_revert_a_tree(whole, tmp_path, capsys, kind):
    tree = make_tree(whole, tmp_path / 'tree', kind)
    before = contents(tree)
    assert run('check', tree) == 1
    assert 'swift-lightsync-patch apply' in capsys.readouterr().out
    assert run('apply', tree) == 0
    assert run('check', tree) == 0
    changed = contents(tree)
    assert {name for name in changed
            if changed[name] != before.get(name)} == set(PATHS)
    for name in PATHS:
        compile(changed[name], name, 'exec')
    assert run('revert', tree) == 0
    assert run('check', tree) == 1
    assert contents(tree) == before


def test_result_is_that_of_the_patch_program(tree, tmp_path):
    if not shutil.which('patch'):
        pytest.skip('no patch program')
    other = shutil.copytree(tree, tmp_path / 'other')
    for name in dict.fromkeys(patch.patch for patch in PATCHES):
        subprocess.run(
            ['patch', '-p1', '--fuzz=0', '--quiet', '-d', other, '-i',
             series.default_directory() / name], check=True)
    assert run('apply', tree) == 0
    assert contents(tree) == contents(other)


@pytest.mark.parametrize('action', ['apply', 'revert'])
def test_doing_it_again_writes_nothing(tree, capsys, action):
    run(action, tree)
    inodes = [(tree / name).stat().st_ino for name in PATHS]
    assert run(action, tree) == 0
    assert 'Nothing to do' in capsys.readouterr().out
    assert [(tree / name).stat().st_ino for name in PATHS] == inodes


@pytest.mark.parametrize('action', ['apply', 'revert'])
@pytest.mark.parametrize('count', range(
    1, len({patch.patch for patch in PATCHES})))
def test_a_prefix_of_the_series_is_completed_or_reverted(
        tree, tmp_path, action, count):
    before = contents(tree)
    older = shutil.copytree(series.default_directory(), tmp_path / 'older')
    names = (older / 'series').read_text().split()[:count]
    (older / 'series').write_text('\n'.join(names))
    assert run('apply', tree, '--patches', older) == 0
    assert run('check', tree) == 2
    assert run(action, tree) == 0
    assert run('check', tree) == (0 if action == 'apply' else 1)
    if action == 'revert':
        assert contents(tree) == before


def test_edit_away_from_the_hunks_is_kept(tree):
    path = tree / 'swift/obj/replicator.py'
    path.write_text('# vendor\n' + path.read_text())
    before = contents(tree)
    assert run('apply', tree) == 0
    assert path.read_text().startswith('# vendor\n')
    assert run('revert', tree) == 0
    assert contents(tree) == before


def test_mode_and_owner_are_kept(tree):
    path = tree / 'swift/obj/replicator.py'
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12346)
    before = path.stat()
    run('apply', tree)
    after = path.stat()
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode, before.st_uid, before.st_gid)


def test_the_importable_swift_is_the_default_and_is_not_imported(tree):
    done = subprocess.run(
        [sys.executable, '-c', 'import sys\n'
         'from swift_lightsync import patcher\n'
         'print(patcher.main(["check"]))\n'
         'print([name for name in ("swift", "eventlet")'
         ' if name in sys.modules])'],
        env=dict(os.environ, PYTHONPATH=str(tree)), text=True,
        stdout=subprocess.PIPE, check=True)
    assert str(tree / PATHS[0]) in done.stdout
    assert done.stdout.splitlines()[-2:] == ['1', '[]']
