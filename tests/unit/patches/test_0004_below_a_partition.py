# SPDX-License-Identifier: Apache-2.0
"""0004: what is below a partition is reached through the manager."""


def test_objects_are_found_where_the_manager_looks_for_them(
        patched, tmp_path):
    assert patched.result('elsewhere.py', tmp_path / 'devices') == {
        'objects': ['data', 'deleted'],
        'suffixes': True,
        'files': ['0000000002.00000.data'],
        'yielded': 2,
        'audited': 2,
        'name': '/a/c/kept',
        'unused': ['is_file_older']}


def test_stock_looks_below_the_partition_for_itself(stock, tmp_path):
    done = stock.run('elsewhere.py', tmp_path / 'devices')
    assert done.returncode
    assert 'DiskFileNotExist' in done.stderr


def test_a_policy_that_rsync_cannot_push_is_left_alone_with_an_error(
        patched, tmp_path):
    assert patched.result('no_rsync.py', 'rsync', tmp_path) == {
        'jobs': 0, 'errors': ['Not replicating policy 0, which rsync cannot '
                              'push: set sync_method = ssync']}


def test_it_is_replicated_by_ssync(patched, tmp_path):
    assert patched.result('no_rsync.py', 'ssync', tmp_path) == {
        'jobs': 1, 'errors': []}


def test_stock_tries_it_by_rsync_without_a_word(stock, tmp_path):
    assert stock.result('no_rsync.py', 'rsync', tmp_path) == {
        'jobs': 1, 'errors': []}
