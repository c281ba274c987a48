# SPDX-License-Identifier: Apache-2.0
"""0002 to 0004: each scenario with stock Swift and with the patched one."""

import pytest

SUFFIX = '27e'
FIRST = 'd41d8cd98f00b204e9800998ecf8427e'
SECOND = 'a41d8cd98f00b204e9800998ecf8427e'
NO_RSYNC = ('Not replicating policy 0, which rsync cannot push: set '
            'sync_method = ssync')


def reverted(suffix=None, deleted=(), left=()):
    """What revert.py prints: a suffix that both remote nodes were sent."""
    return {'sent': [[remote, [suffix]] for remote in ('remote1', 'remote2')
                     if suffix],
            'deleted': list(deleted), 'left': list(left)}


def rooted(directory, swifts):
    """Give each copy of Swift a directory of its own."""
    for number, each in enumerate(swifts):
        root = directory / str(number)
        root.mkdir()
        yield root, each


@pytest.mark.parametrize('swift, case, wanted', [
    # Stock Swift drops a packed partition without sending it.
    ('stock', 'packed rsync', reverted()),
    ('patched', 'packed rsync', reverted('abc', [['sda', '5', 0]], ['.'])),
    ('patched', 'packed ssync', reverted(
        'abc', [['sda', '5', FIRST, 0]], ['.'])),
    ('either', 'rsync', reverted(SUFFIX)),
    # Only what ssync has confirmed is removed.
    ('either', 'ssync', reverted(
        SUFFIX, left=['.', SUFFIX, SUFFIX + '/' + SECOND])),
    ('either', 'unreadable', reverted(left=[
        '.', SUFFIX, SUFFIX + '/' + SECOND, SUFFIX + '/' + FIRST])),
    # It still takes a path.
    ('either', 'delete_partition', reverted()),
])
def test_0002_a_handoff_is_reverted_through_the_manager(
        swifts, tmp_path, swift, case, wanted):
    for root, each in rooted(tmp_path, swifts(swift)):
        assert each.result('revert.py', case, root) == wanted


@pytest.mark.parametrize('swift, extra, is_removed', [
    ('stock', 'changed.pkl', False), ('patched', 'changed.pkl', True),
    ('either', 'unknown', False), ('either', 'hashes.pkl', True)])
def test_0003_changed_pkl_keeps_no_old_partition_from_its_cleanup(
        swifts, tmp_path, swift, extra, is_removed):
    for root, each in rooted(tmp_path, swifts(swift)):
        assert each.result('relink.py', extra, root) == {
            'before': ['3', '7'], 'after': ['7'] if is_removed else ['3', '7']}


def test_0004_objects_are_found_where_the_manager_looks_for_them(
        patched, tmp_path):
    assert patched.result('elsewhere.py', tmp_path / 'devices') == {
        'objects': ['data', 'deleted'],
        'suffixes': True,
        'files': ['0000000002.00000.data'],
        'yielded': 2,
        'audited': 2,
        'name': '/a/c/kept',
        'unused': ['is_file_older']}


def test_0004_stock_looks_below_the_partition_for_itself(stock, tmp_path):
    done = stock.run('elsewhere.py', tmp_path / 'devices')
    assert done.returncode
    assert 'DiskFileNotExist' in done.stderr


@pytest.mark.parametrize('swift, sync_method, jobs, errors', [
    ('patched', 'rsync', 0, [NO_RSYNC]), ('patched', 'ssync', 1, []),
    # Stock Swift tries it by rsync without a word.
    ('stock', 'rsync', 1, [])])
def test_0004_a_policy_that_rsync_cannot_push_is_left_to_ssync(
        swifts, tmp_path, swift, sync_method, jobs, errors):
    each, = swifts(swift)
    assert each.result('no_rsync.py', sync_method, tmp_path) == {
        'jobs': jobs, 'errors': errors}
