# SPDX-License-Identifier: Apache-2.0
"""0007: what a watcher wants deleted, the diskfile manager deletes."""

import pytest

from tests.unit.patches.test_diskfile_and_relinker import rooted


@pytest.mark.parametrize('swift, kind, deleted, left', [
    ('either', 'file', [], False),
    # Stock Swift removes the directory, whoever has the object.
    ('stock', 'packed', [], False),
    ('patched', 'packed', [['sda', '5', 0]], True)])
def test_dark_data_is_deleted_through_the_manager(
        swifts, tmp_path, swift, kind, deleted, left):
    for root, each in rooted(tmp_path, swifts(swift)):
        assert each.result('dark_data.py', root, kind) == {
            'deleted': deleted, 'left': left, 'errors': 0}
