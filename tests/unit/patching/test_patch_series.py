# SPDX-License-Identifier: Apache-2.0
"""Patches that cannot be used, where they are, texts they do not fit."""

import re
import shutil
import subprocess
import sys
from itertools import count

import pytest

from swift_lightsync import patch_series
from swift_lightsync.patch_series import FilePatch, Hunk, PatchingError
from tests.unit.patching.trees import DIFF, NAMES, REPLICATOR, SERIES, run

ALLOWED = 'allowed is a/swift/PATH'


@pytest.mark.parametrize('series, words', [
    (b'', ['lists no patch']),
    (b'# nothing\n\n', ['lists no patch']),
    (b'absent.patch\n', ['absent.patch', 'cannot be read']),
    (b'one.patch\none.patch\n', ['one.patch twice']),
    (b'../one.patch\n', ["'../one.patch'", 'allowed']),
    (b'/etc/one.patch\n', ["'/etc/one.patch'", 'allowed']),
    (b'series\n', ["'series'", '*.patch']),
    (None, ['/series', 'cannot be read']),
    (b'\xff\xfe', ['/series', 'cannot be read']),
])
def test_unusable_series_is_refused(
        tree, patches, assert_refused, series, words):
    assert_refused(words, 'apply', tree, '--patches', patches(series=series))


@pytest.mark.parametrize('old, new, words', [
    ('+# A line.\n #\n', '+# A line.\n', []),
    ('+# A line.', '?# A line.', []),
    ('@@ -1,2 +1,3 @@', '@@ -1,3 +1,3 @@', []),
    ('@@ -1,2 +1,3 @@', '@@ -1,2 +1,2 @@', []),
    ('@@ -1,2', '@ -1,2', []),
    ('+++ b/swift/obj/replicator.py\n', '', []),
    (' #\n', ' #\ntrailing\n', []),
    (' #\n', ' #\n@ -9,1 +10,1 @@\n-x\n+y\n', []),
    (DIFF, 'No diff.\n', ['changes no file']),
    ('@@ -1,2 +1,3 @@\n # Copyright (c) 2010-2012 OpenStack Foundation\n'
     '+# A line.\n #\n', '@@ -0,0 +1,1 @@\n+# A line.\n', ['no context']),
    *((REPLICATOR, name, [name, ALLOWED]) for name in (
        'swift/../outside.py', '../outside.py', '/etc/outside.py',
        'outside.py', 'swift/./../../outside.py')),
    *((side + REPLICATOR, name, [name.lstrip('b/'), ALLOWED])
      for side, name in (
        ('a/', '/dev/null'), ('b/', '/dev/null'), ('a/', '/etc/passwd'),
        ('b/', 'b/swift/obj/renamed.py'))),
])
def test_patch_is_refused_that_is_damaged_or_changes_other_things(
        tree, patches, assert_refused, old, new, words):
    assert old in DIFF
    directory = patches(DIFF.replace(old, new))
    assert_refused(['one.patch', *words],
                   'apply', tree, '--patches', directory)


def test_tests_and_release_notes_are_for_swifts_repository_only(
        tree, patches):
    whole = DIFF + '--- /dev/null\n+++ b/%s/new\n@@ -0,0 +1,1 @@\n+x\n'
    for name in ('test', 'releasenotes/notes'):
        assert patch_series.load(patches(whole % name)) == \
            patch_series.load(patches(DIFF))
    with pytest.raises(PatchingError):
        patch_series.load(patches(whole % 'swift'))


def test_each_patch_is_a_mail_that_git_am_takes(tree):
    for command in ('init -q', 'add .', 'commit -qm m',
                    'am -q ' + ' '.join(str(SERIES / name)
                                        for name in NAMES)):
        subprocess.run(
            ['git', '-C', tree, '-c', 'user.name=n', '-c', 'user.email=e',
             *command.split()], check=True)
    assert run('check', tree) == 0


def test_each_patch_names_the_test_that_holds_it():
    for name in NAMES:
        held_by = re.search('^Held by: (.*)$', (SERIES / name).read_text(),
                            re.MULTILINE)
        assert (SERIES.parent / held_by[1]).is_file()


def test_patches_are_found_where_they_are_installed_or_that_is_said(
        tmp_path, monkeypatch):
    monkeypatch.setattr(patch_series, 'BESIDE', tmp_path / 'absent')
    monkeypatch.setattr(sys, 'prefix', str(tmp_path))
    with monkeypatch.context() as patch, \
            pytest.raises(PatchingError) as caught:
        patch.setattr(patch_series, 'SHARED', tmp_path / 'absent too')
        patch_series.default_directory()
    assert '--patches' in str(caught.value)
    assert str(tmp_path / 'absent') in str(caught.value)
    installed = tmp_path / 'share' / 'swift-lightsync' / 'patches'
    shutil.copytree(SERIES, installed)
    assert patch_series.default_directory() == installed


@pytest.mark.parametrize('text, changes, words', [
    ('x\n', [('x\n', 'x\n')], '0 or 1'),
    ('y\nx\n', [('x\n', 'new\n'), ('y\n', 'new\n')],
     'hunk 2 does not fit: line 1 is not below'),
    ('', [('x\n', 'z\n')], "line 1 should be 'x', but is '(end of file)'"),
    ('y\n', [('x\n', 'z\n')], "line 1 should be 'x', but is 'y'"),
    ('x', [('x\n', 'z\n')], "line 1 should be 'x\\n', but is 'x'"),
])
def test_text_that_fits_no_state_or_two_is_refused(text, changes, words):
    hunks = tuple(Hunk(number, number, (old,), (new,))
                  for number, (old, new) in zip(count(1), changes))
    with pytest.raises(PatchingError) as caught:
        patch_series.detect(
            text, [FilePatch('one.patch', 'swift/x.py', hunks)])
    assert words in str(caught.value)
