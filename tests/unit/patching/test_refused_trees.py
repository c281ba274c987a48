# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-patch: trees that it refuses."""

import pytest

from swift_lightsync import patcher
from swift_lightsync.patching import tree as swift_tree
from tests.unit.patching.trees import (
    PATCHES,
    PATHS,
    contents,
    make_tree,
    refused,
    run,
)


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
