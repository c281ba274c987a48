# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""swift-lightsync-patch on copies of Swift, interrupted, denied and misled."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from swift_lightsync import patcher
from swift_lightsync.patching import PatchingError, hunks, series
from swift_lightsync.patching import tree as swift_tree
from tests.unit.patches.swift_copy import copy_swift

PATCHES = series.load(series.default_directory())
PATHS = tuple(dict.fromkeys(patch.path for patch in PATCHES))
COMMAND = [sys.executable, '-m', 'swift_lightsync.patcher']
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
DIFF = """A reason.

--- a/swift/obj/replicator.py
+++ b/swift/obj/replicator.py
@@ -1,2 +1,3 @@
 # Copyright (c) 2010-2012 OpenStack Foundation
+# A line.
 #
"""


@pytest.fixture(scope='session')
def whole(tmp_path_factory):
    return copy_swift(tmp_path_factory.mktemp('whole'), 'revert')


def make_tree(whole, root, kind):
    """A tree with the files of Swift that matter here."""
    for name in ('swift/__init__.py',) + PATHS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(whole / name, root / name)
    info, = whole.glob('swift-*.*-info')
    if kind == 'installed':
        shutil.copytree(info, root / info.name)
    elif kind == 'sdist':
        shutil.copy2(info / 'METADATA', root / 'PKG-INFO')
    elif kind == 'checkout':
        git = ['git', '-C', root, '-c', 'user.name=n', '-c', 'user.email=e']
        subprocess.run(git + ['init', '-q'], check=True)
        subprocess.run(git + ['commit', '-q', '--allow-empty', '-m', 'm'],
                       check=True)
        subprocess.run(git + ['tag', '2.38.3'], check=True)
    return root.resolve()


@pytest.fixture
def tree(whole, tmp_path):
    return make_tree(whole, tmp_path / 'tree', 'installed')


@pytest.fixture
def patches(tmp_path):
    """Writes a directory of patches: one.patch and a series."""
    directory = tmp_path / 'patches'
    directory.mkdir()

    def write(text=DIFF, names='one.patch\n'):
        (directory / 'one.patch').write_text(text)
        (directory / 'series').write_text(names)
        return directory
    return write


def run(action, tree, *more):
    return patcher.main([action, '--target', str(tree), *map(str, more)])


def contents(tree):
    """Every file of the tree, so that what is left behind shows."""
    return {str(path.relative_to(tree)): path.read_bytes()
            for path in tree.rglob('*')
            if path.is_file() and '.git' not in path.parts}


def levels(tree):
    return {state.path: state.level
            for state in patcher.inspect(tree, PATCHES)}


def refused(capsys, *words):
    """The command said no, with these words, in one line."""
    err = capsys.readouterr().err
    assert err.startswith('swift-lightsync-patch: refused: ')
    assert err.count('\n') == 1
    for word in words:
        assert str(word) in err
    return True


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
    assert run(then, tree) == 0
    assert contents(tree) == (after if then == 'apply' else before)


@pytest.mark.parametrize('action', ['apply', 'revert'])
@pytest.mark.parametrize('count', range(1, len(PATHS) + 1))
def test_killed_run_leaves_no_replicator_without_its_diskfile(
        tree, count, action):
    if action == 'revert':
        run('apply', tree)
    subprocess.run([sys.executable, '-c', KILLED, 'replace', str(count),
                    action, '--target', tree])
    now = levels(tree)
    assert now['swift/obj/diskfile.py'] or \
        now['swift/obj/replicator.py'] == 0


@pytest.mark.parametrize('action', ['apply', 'check', 'revert'])
def test_edit_inside_a_hunk_is_refused_by_its_place(tree, capsys, action):
    path = tree / 'swift/obj/replicator.py'
    path.write_text(path.read_text().replace(
        '    def delete_partition(self, path):\n',
        '    def delete_partition(self, path, now):\n'))
    before = contents(tree)
    assert run(action, tree) == 2
    assert contents(tree) == before
    line = path.read_text().splitlines().index(
        '    def delete_partition(self, path, now):') + 1
    hunk = next(hunk for patch in PATCHES for hunk in patch.hunks
                if '    def delete_partition(self, path):\n' in hunk.old)
    assert refused(
        capsys, 'swift/obj/replicator.py: 0002-', 'hunk %d ' % hunk.number,
        "line %d should be '    def delete_partition(self, path):', but is "
        "'    def delete_partition(self, path, now):'" % line)


def test_edit_of_a_patched_file_names_the_edited_line(tree, capsys):
    run('apply', tree)
    path = tree / 'swift/obj/diskfile.py'
    path.write_text(path.read_text().replace(
        'tpool.execute(shutil.rmtree, path)\n', 'shutil.rmtree(path)\n'))
    before = contents(tree)
    assert run('revert', tree) == 2
    assert contents(tree) == before
    assert refused(capsys, 'diskfile.py: 0002-',
                   "but is '        shutil.rmtree(path)'")


def test_edit_away_from_the_hunks_is_kept(tree):
    path = tree / 'swift/obj/replicator.py'
    path.write_text('# vendor\n' + path.read_text())
    before = contents(tree)
    assert run('apply', tree) == 0
    assert path.read_text().startswith('# vendor\n')
    assert run('revert', tree) == 0
    assert contents(tree) == before


def test_hunk_whose_lines_stand_twice_is_refused(tree, capsys):
    path = tree / 'swift/cli/relinker.py'
    path.write_text(path.read_text() * 2)
    assert run('apply', tree) == 2
    assert refused(capsys, 'relinker.py: 0003-', 'stand there 2 times')


def test_missing_file_is_refused(tree, capsys):
    (tree / 'swift/cli/relinker.py').unlink()
    before = contents(tree)
    assert run('apply', tree) == 2
    assert refused(capsys, tree / 'swift/cli/relinker.py')
    assert contents(tree) == before


@pytest.mark.parametrize('name', PATHS)
def test_file_that_is_a_link_out_of_the_tree_is_refused(
        tree, tmp_path, capsys, name):
    (tree / name).rename(tmp_path / 'outside.py')
    (tree / name).symlink_to(tmp_path / 'outside.py')
    before = (tmp_path / 'outside.py').read_bytes()
    assert run('apply', tree) == 2
    assert refused(capsys, tree / name, 'leads out of the tree')
    assert (tmp_path / 'outside.py').read_bytes() == before


@pytest.mark.parametrize('version', ['2.37.4', '2.39.0', '2.3.8', '2.380.1'])
@pytest.mark.parametrize('action', ['apply', 'check', 'revert'])
def test_other_release_of_swift_is_refused(
        whole, tmp_path, capsys, action, version):
    tree = make_tree(whole, tmp_path / 'tree', 'sdist')
    (tree / 'PKG-INFO').write_text('Name: swift\nVersion: %s\n' % version)
    assert run(action, tree) == 2
    assert refused(capsys, 'is Swift ' + version, '2.38.x')


def test_unknown_version_is_refused_with_a_remedy(whole, tmp_path, capsys):
    tree = make_tree(whole, tmp_path / 'tree', None)
    assert run('apply', tree) == 2
    assert refused(capsys, 'cannot be determined', 'pip install -e %s' % tree,
                   'PBR_VERSION')


def test_pkg_info_of_another_project_tells_no_version(
        whole, tmp_path, capsys):
    tree = make_tree(whole, tmp_path / 'tree', None)
    (tree / 'PKG-INFO').write_text('Name: swiftly\nVersion: 2.38.3\n')
    assert run('apply', tree) == 2
    assert refused(capsys, 'cannot be determined')


def test_metadata_of_two_versions_is_refused(tree, capsys):
    other = tree / 'swift-2.38.99.dist-info'
    other.mkdir()
    (other / 'METADATA').write_text('Name: swift\nVersion: 2.38.99\n')
    assert run('apply', tree) == 2
    assert refused(capsys, 'several versions', '2.38.99')


@pytest.mark.parametrize('target', ['absent', 'tree/swift', 'tree/swift/obj'])
def test_target_that_is_no_swift_tree_is_refused(
        tree, tmp_path, capsys, target):
    assert run('apply', tmp_path / target) == 2
    assert refused(capsys, tmp_path / target,
                   'directory that contains swift/')


def test_absence_of_swift_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(swift_tree, 'find_spec', lambda name: None)
    assert patcher.main(['check']) == 2
    assert refused(capsys, 'not installed', '--target')


@pytest.mark.parametrize('action, again', [('apply', 'revert'),
                                           ('revert', 'apply')])
def test_read_only_tree_is_refused_unless_nothing_is_to_do(
        tree, action, again):
    run(again, tree)
    before = contents(tree)
    if os.geteuid() == 0:
        command = [
            'unshare', '--mount', 'sh', '-ec',
            'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"',
            tree, *COMMAND]
    else:
        command = COMMAND
        for path in [tree, *tree.rglob('*')]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    done = subprocess.run(command + [action, '--target', tree], text=True,
                          stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert 'cannot be written' in done.stderr
    assert contents(tree) == before
    done = subprocess.run(command + [again, '--target', tree], text=True,
                          stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, '')


def test_write_that_fails_leaves_nothing(tree):
    before = contents(tree)
    largest = max(len(before[name]) for name in PATHS)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    done = subprocess.run(COMMAND + ['apply', '--target', tree], text=True,
                          stderr=subprocess.PIPE, preexec_fn=limit)
    assert done.returncode == 2
    assert 'cannot be written' in done.stderr
    assert 'Traceback' not in done.stderr
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


def test_tree_that_another_run_has_is_refused(tree, capsys):
    with open(tree / 'swift/__init__.py') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run('apply', tree) == 2
        assert refused(capsys, 'another process')
        assert run('check', tree) == 1
    assert run('apply', tree) == 0


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


@pytest.mark.parametrize('names, words', [
    ('', ['lists no patch']),
    ('# nothing\n\n', ['lists no patch']),
    ('absent.patch\n', ['absent.patch', 'cannot be read']),
    ('one.patch\none.patch\n', ['one.patch twice']),
    ('../one.patch\n', ["'../one.patch'", 'allowed']),
    ('/etc/one.patch\n', ["'/etc/one.patch'", 'allowed']),
    ('series\n', ["'series'", '*.patch']),
])
def test_unusable_series_is_refused(tree, patches, capsys, names, words):
    before = contents(tree)
    assert run('apply', tree, '--patches', patches(names=names)) == 2
    assert refused(capsys, *words)
    assert contents(tree) == before


def test_series_that_cannot_be_read_is_refused(tree, tmp_path, capsys):
    assert run('apply', tree, '--patches', tmp_path) == 2
    assert refused(capsys, tmp_path / 'series')
    (tmp_path / 'series').write_bytes(b'\xff\xfe')
    assert run('apply', tree, '--patches', tmp_path) == 2
    assert refused(capsys, tmp_path / 'series', 'cannot be read')


@pytest.mark.parametrize('old, new', [
    ('+# A line.\n #\n', '+# A line.\n'),
    ('+# A line.', '?# A line.'),
    ('@@ -1,2 +1,3 @@', '@@ -1,3 +1,3 @@'),
    ('@@ -1,2 +1,3 @@', '@@ -1,2 +1,2 @@'),
    ('@@ -1,2', '@ -1,2'),
    ('+++ b/swift/obj/replicator.py\n', ''),
    (' #\n', ' #\ntrailing\n'),
    (DIFF, 'No diff.\n'),
    ('@@ -1,2 +1,3 @@\n # Copyright (c) 2010-2012 OpenStack Foundation\n'
     '+# A line.\n #\n', '@@ -0,0 +1,1 @@\n+# A line.\n'),
])
def test_damaged_patch_is_refused(tree, patches, capsys, old, new):
    assert old in DIFF
    before = contents(tree)
    directory = patches(DIFF.replace(old, new))
    assert run('apply', tree, '--patches', directory) == 2
    assert refused(capsys, 'one.patch')
    assert contents(tree) == before


@pytest.mark.parametrize('name', [
    'swift/../outside.py', '../outside.py', '/etc/outside.py', 'outside.py',
    'swift/./../../outside.py'])
def test_path_out_of_swift_is_refused(tree, patches, capsys, name):
    text = DIFF.replace('swift/obj/replicator.py', name)
    assert run('apply', tree, '--patches', patches(text)) == 2
    assert refused(capsys, 'one.patch', name, 'allowed is a/swift/PATH')


@pytest.mark.parametrize('side, name', [
    ('a/swift/obj/replicator.py', '/dev/null'),
    ('b/swift/obj/replicator.py', '/dev/null'),
    ('a/swift/obj/replicator.py', '/etc/passwd'),
    ('b/swift/obj/replicator.py', 'b/swift/obj/renamed.py'),
])
def test_patch_that_does_more_than_change_a_file_is_refused(
        tree, patches, capsys, side, name):
    before = contents(tree)
    directory = patches(DIFF.replace(side, name))
    assert run('apply', tree, '--patches', directory) == 2
    assert refused(capsys, 'one.patch', name)
    assert contents(tree) == before


def test_patches_are_found_where_they_are_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(series, 'BESIDE', tmp_path / 'absent')
    monkeypatch.setattr(sys, 'prefix', str(tmp_path))
    installed = tmp_path / 'share' / 'swift-lightsync' / 'patches'
    shutil.copytree(Path(__file__).parents[2] / 'patches', installed)
    assert series.default_directory() == installed


def test_absence_of_the_patches_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(series, 'BESIDE', tmp_path / 'absent')
    monkeypatch.setattr(series, 'SHARED', tmp_path / 'absent too')
    with pytest.raises(PatchingError) as caught:
        series.default_directory()
    assert '--patches' in str(caught.value)
    assert str(tmp_path / 'absent') in str(caught.value)


def one_hunk(old, new):
    return series.FilePatch('one.patch', 'swift/x.py', (
        series.Hunk(1, 1, (old,), (new,)),))


def test_file_that_fits_two_states_is_refused():
    with pytest.raises(PatchingError) as caught:
        hunks.detect('x\n', [one_hunk('x\n', 'x\n')])
    assert '0 or 1' in str(caught.value)


def test_hunks_in_another_order_are_refused():
    first, second = (series.Hunk(number, number, (line,), ('new\n',))
                     for number, line in ((1, 'x\n'), (2, 'y\n')))
    with pytest.raises(PatchingError) as caught:
        hunks.detect('y\nx\n', [series.FilePatch(
            'one.patch', 'swift/x.py', (first, second))])
    assert 'hunk 2 does not fit: line 1 is not below' in str(caught.value)


@pytest.mark.parametrize('text, words', [
    ('', "line 1 should be 'x', but is '(end of file)'"),
    ('y\n', "line 1 should be 'x', but is 'y'"),
    ('x', "line 1 should be 'x\\n', but is 'x'"),
])
def test_text_that_fits_no_state_is_refused(text, words):
    with pytest.raises(PatchingError) as caught:
        hunks.detect(text, [one_hunk('x\n', 'z\n')])
    assert words in str(caught.value)
