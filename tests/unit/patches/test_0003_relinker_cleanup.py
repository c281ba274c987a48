# SPDX-License-Identifier: Apache-2.0
"""0003: changed.pkl does not keep an old partition from its cleanup."""


def test_stock_leaves_an_old_partition_with_changed_pkl(stock, tmp_path):
    assert stock.result('relink.py', 'changed.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['3', '7']}


def test_old_partition_with_changed_pkl_is_removed(patched, tmp_path):
    assert patched.result('relink.py', 'changed.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['7']}


def test_old_partition_with_an_unknown_file_is_left(either, tmp_path):
    assert either.result('relink.py', 'unknown', tmp_path) == {
        'before': ['3', '7'], 'after': ['3', '7']}


def test_old_partition_with_nothing_else_is_removed(either, tmp_path):
    assert either.result('relink.py', 'hashes.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['7']}
