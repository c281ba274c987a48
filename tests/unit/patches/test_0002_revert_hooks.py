# SPDX-License-Identifier: Apache-2.0
"""0002: a handoff partition is reverted through the diskfile manager."""

FIRST = '27e/d41d8cd98f00b204e9800998ecf8427e'
SECOND = '27e/a41d8cd98f00b204e9800998ecf8427e'


def sent(suffix):
    return [['remote1', [suffix]], ['remote2', [suffix]]]


def test_stock_drops_a_packed_partition_without_sending_it(stock, tmp_path):
    assert stock.result('revert.py', 'packed rsync', tmp_path) == {
        'sent': [], 'deleted': [], 'left': []}


def test_packed_partition_is_sent_then_deleted_by_its_manager(
        patched, tmp_path):
    assert patched.result('revert.py', 'packed rsync', tmp_path) == {
        'sent': sent('abc'), 'deleted': [['sda', '5', 0]], 'left': ['.']}


def test_packed_object_is_sent_then_deleted_by_its_manager(
        patched, tmp_path):
    assert patched.result('revert.py', 'packed ssync', tmp_path) == {
        'sent': sent('abc'),
        'deleted': [['sda', '5', FIRST.split('/')[1], 0]], 'left': ['.']}


def test_partition_of_files_is_sent_then_removed(either, tmp_path):
    assert either.result('revert.py', 'rsync', tmp_path) == {
        'sent': sent('27e'), 'deleted': [], 'left': []}


def test_only_the_objects_that_ssync_confirmed_are_removed(either, tmp_path):
    assert either.result('revert.py', 'ssync', tmp_path) == {
        'sent': sent('27e'), 'deleted': [], 'left': ['.', '27e', SECOND]}


def test_partition_that_cannot_be_listed_is_kept(either, tmp_path):
    assert either.result('revert.py', 'unreadable', tmp_path) == {
        'sent': [], 'deleted': [], 'left': ['.', '27e', SECOND, FIRST]}


def test_delete_partition_still_takes_a_path(either, tmp_path):
    assert either.result('revert.py', 'delete_partition', tmp_path) == {
        'sent': [], 'deleted': [], 'left': []}
