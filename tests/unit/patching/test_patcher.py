# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-patch: the trees that it changes and those it refuses."""

import os
import shutil
import subprocess
import sys

import pytest

from swift_lightsync import patcher
from tests.unit.patching.trees import (
    NAMES,
    PATCHES,
    PATHS,
    REPLICATOR,
    SERIES,
    contents,
    edit,
    make_tree,
    run,
)

ACTIONS = pytest.mark.parametrize('action', ['apply', 'revert'])
ALL_ACTIONS = pytest.mark.parametrize('action', ['apply', 'check', 'revert'])
DELETE = '    def delete_partition(self, path):'


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


@pytest.mark.skipif(not shutil.which('patch'), reason='no patch program')
def test_result_is_that_of_the_patch_program(tree, tmp_path):
    other = shutil.copytree(tree, tmp_path / 'other')
    for name in NAMES:
        subprocess.run(
            ['patch', '-p1', '--fuzz=0', '--quiet', '-d', other, '-i',
             SERIES / name], check=True)
    assert run('apply', tree) == 0
    # It takes what is for Swift's repository, too.
    shutil.rmtree(other / 'test')
    shutil.rmtree(other / 'releasenotes')
    assert contents(tree) == contents(other)


@ACTIONS
def test_doing_it_again_writes_nothing(tree, capsys, action):
    run(action, tree)
    inodes = [(tree / name).stat().st_ino for name in PATHS]
    assert run(action, tree) == 0
    assert 'Nothing to do' in capsys.readouterr().out
    assert [(tree / name).stat().st_ino for name in PATHS] == inodes


@ACTIONS
@pytest.mark.parametrize('count', range(1, len(NAMES)))
def test_a_prefix_of_the_series_is_completed_or_reverted(
        tree, tmp_path, action, count):
    before = contents(tree)
    older = shutil.copytree(SERIES, tmp_path / 'older')
    (older / 'series').write_text('\n'.join(NAMES[:count]))
    assert run('apply', tree, '--patches', older) == 0
    assert run('check', tree) == 2
    assert run(action, tree) == 0
    assert run('check', tree) == (0 if action == 'apply' else 1)
    if action == 'revert':
        assert contents(tree) == before


def test_edit_away_from_the_hunks_mode_and_owner_are_kept(tree):
    path = tree / REPLICATOR
    path.write_text('# vendor\n' + path.read_text())
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12346)
    before, stat = contents(tree), path.stat()
    assert run('apply', tree) == 0
    assert path.read_text().startswith('# vendor\n')
    found = path.stat()
    assert found.st_ino != stat.st_ino
    assert (found.st_mode, found.st_uid, found.st_gid) == (
        stat.st_mode, stat.st_uid, stat.st_gid)
    assert run('revert', tree) == 0
    assert contents(tree) == before


def test_the_importable_swift_is_the_default_and_is_not_imported(tree):
    done = subprocess.run(
        [sys.executable, '-c', 'import sys\n'
         'from swift_lightsync import patcher\n'
         'print(patcher.main(["check"]))\n'
         'print([name for name in ("swift", "eventlet")'
         ' if name in sys.modules])'],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(
            [str(tree), os.environ.get('PYTHONPATH', '')])), text=True,
        stdout=subprocess.PIPE, check=True)
    assert str(tree / PATHS[0]) in done.stdout
    assert done.stdout.splitlines()[-2:] == ['1', '[]']


@ALL_ACTIONS
def test_edit_inside_a_hunk_is_refused_by_its_place(
        tree, assert_refused, action):
    edited = DELETE.replace('path', 'path, now')
    edit(tree / REPLICATOR, DELETE + '\n', edited + '\n')
    line = (tree / REPLICATOR).read_text().splitlines().index(edited) + 1
    hunk = next(hunk for patch in PATCHES for hunk in patch.hunks
                if DELETE + '\n' in hunk.old)
    assert_refused([
        REPLICATOR + ': 0002-', 'hunk %d ' % hunk.number,
        'line %d should be %r, but is %r' % (line, DELETE, edited),
    ], action, tree)


@pytest.mark.parametrize('name, change, words', [
    ('swift/obj/diskfile.py', lambda path: edit(
        path, 'tpool.execute(shutil.rmtree, path)\n', 'shutil.rmtree(path)\n'),
     ['diskfile.py: 0002-', "but is '        shutil.rmtree(path)'"]),
    ('swift/cli/relinker.py', lambda path: path.write_text(
        path.read_text() * 2),
     ['relinker.py: 0003-', 'stand there 2 times']),
    ('swift/cli/relinker.py', lambda path: path.unlink(), ['relinker.py'])])
def test_changed_file_is_refused_by_its_line(
        tree, assert_refused, name, change, words):
    if 'diskfile' in name:
        run('apply', tree)
    change(tree / name)
    assert_refused(words, 'revert' if 'diskfile' in name else 'apply', tree)


@pytest.mark.parametrize('name', PATHS)
def test_file_that_is_a_link_out_of_the_tree_is_refused(
        tree, tmp_path, assert_refused, name):
    outside = (tree / name).rename(tmp_path / 'outside.py')
    (tree / name).symlink_to(outside)
    assert_refused([tree / name, 'leads out of the tree'], 'apply', tree)


@pytest.mark.parametrize('version', ['2.37.4', '2.39.0', '2.3.8', '2.380.1'])
@ALL_ACTIONS
def test_other_release_of_swift_is_refused(
        bare, assert_refused, action, version):
    (bare / 'PKG-INFO').write_text('Name: swift\nVersion: %s\n' % version)
    assert_refused(['is Swift ' + version, '2.38.x'], action, bare)


@pytest.mark.parametrize('info', ['', 'Name: swiftly\nVersion: 2.38.3\n'])
def test_unknown_version_is_refused_with_a_remedy(bare, assert_refused, info):
    if info:
        (bare / 'PKG-INFO').write_text(info)
    assert_refused(['cannot be determined', 'pip install -e %s' % bare,
                    'PBR_VERSION'], 'apply', bare)


def test_metadata_of_two_versions_is_refused(tree, assert_refused):
    other = tree / 'swift-2.38.99.dist-info'
    other.mkdir()
    (other / 'METADATA').write_text('Name: swift\nVersion: 2.38.99\n')
    assert_refused(['several versions', '2.38.99'], 'apply', tree)


@pytest.mark.parametrize('target', ['absent', 'tree/swift', 'tree/swift/obj'])
def test_target_that_is_no_swift_tree_is_refused(
        tree, tmp_path, assert_refused, target):
    assert_refused([tmp_path / target, 'directory that contains swift/'],
                   'apply', tmp_path / target)


def test_absence_of_swift_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(patcher, 'find_spec', lambda name: None)
    assert patcher.main(['check']) == 2
    err = capsys.readouterr().err
    assert 'not installed' in err and '--target' in err
