# SPDX-License-Identifier: Apache-2.0
"""0008: a device that goes away does not end the reconstructor's pass."""

import pytest


@pytest.mark.parametrize('swift, hashed', [
    ('stock', []), ('patched', ['sdb', 'sdc'])])
def test_the_pass_goes_on_and_no_partition_is_deleted(
        swifts, tmp_path, swift, hashed):
    each, = swifts(swift)
    assert each.result('unavailable.py', tmp_path) == {
        'hashed': hashed, 'left': 12}
