# SPDX-License-Identifier: Apache-2.0
"""0009: operators are shown objects through the diskfile manager."""

import pytest

from tests.unit.patches.test_diskfile_and_relinker import rooted


@pytest.mark.parametrize('swift, kind, valid, hint', [
    ('either', 'file', 2, 'ls'), ('stock', 'packed', 0, 'ls'),
    ('patched', 'packed', 2, 'list'),
    # On a host that has not the diskfile_module of the policy.
    ('patched', 'unknown', 0, 'ls')])
def test_objects_are_read_and_listed_by_their_manager(
        swifts, tmp_path, swift, kind, valid, hint):
    for root, each in rooted(tmp_path, swifts(swift)):
        assert each.result('info.py', root, kind) == {
            'valid': valid, 'hints': [hint]}
