# SPDX-License-Identifier: Apache-2.0
"""A copy of Swift, small trees made of it, and a directory of patches."""

import pytest

from tests.unit.patches.swift_copy import copy_swift
from tests.unit.patching.trees import DIFF, contents, make_tree, run


@pytest.fixture(scope='session')
def whole(tmp_path_factory):
    return copy_swift(tmp_path_factory.mktemp('whole'), 'revert')


@pytest.fixture
def tree(whole, tmp_path):
    return make_tree(whole, tmp_path / 'tree', 'installed')


@pytest.fixture
def bare(whole, tmp_path):
    """A tree with nothing that tells its version."""
    return make_tree(whole, tmp_path / 'tree', None)


@pytest.fixture
def patches(tmp_path):
    """Writes a directory of patches: one.patch and a series, or none."""
    directory = tmp_path / 'patches'
    directory.mkdir()

    def write(text=DIFF, series=b'one.patch\n'):
        (directory / 'one.patch').write_text(text)
        if series is not None:
            (directory / 'series').write_bytes(series)
        return directory
    return write


@pytest.fixture
def assert_refused(capsys):
    """Checks that the command says no in one line and changes nothing."""
    def check(words, action, root, *more):
        before = contents(root)
        assert run(action, root, *more) == 2
        err = capsys.readouterr().err
        assert err.startswith('swift-lightsync-patch: refused: ')
        assert err.count('\n') == 1
        for word in words:
            assert str(word) in err
        assert contents(root) == before
    return check
