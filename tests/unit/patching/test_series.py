# SPDX-License-Identifier: Apache-2.0
"""series: patches that cannot be used, and where they are looked for."""

import shutil
import sys
from pathlib import Path

import pytest

from swift_lightsync.patching import PatchingError, series
from tests.unit.patching.trees import DIFF, contents, refused, run


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
    shutil.copytree(Path(__file__).parents[3] / 'patches', installed)
    assert series.default_directory() == installed


def test_absence_of_the_patches_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(series, 'BESIDE', tmp_path / 'absent')
    monkeypatch.setattr(series, 'SHARED', tmp_path / 'absent too')
    with pytest.raises(PatchingError) as caught:
        series.default_directory()
    assert '--patches' in str(caught.value)
    assert str(tmp_path / 'absent') in str(caught.value)
