# SPDX-License-Identifier: Apache-2.0
"""0006: what stock Swift does by itself, the diskfile manager does."""

import pytest


@pytest.mark.parametrize('swift, renamed, deleted', [
    ('patched', [['1#2.data', '1#2#d.data']], [['sda', '7', 0]]),
    ('stock', [], [])])
def test_fragments_and_partitions_go_through_the_manager(
        swifts, tmp_path, swift, renamed, deleted):
    each, = swifts(swift)
    assert each.result('fragments.py', tmp_path) == {
        'renamed': renamed, 'deleted': deleted,
        # As files, they are treated alike.
        'files': ['0000000001.00000#2#d.data'], 'left': []}
