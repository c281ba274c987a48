# SPDX-License-Identifier: Apache-2.0
"""0011: a path that is quoted again is remembered, and quoted the same."""

import pytest


@pytest.mark.parametrize('swift, times', [('stock', 30), ('patched', 3)])
def test_paths_are_quoted_once(swifts, swift, times):
    each, = swifts(swift)
    assert each.result('quoting.py') == {
        'quoted': ['/v1/a/%00c%00/o%20%C3%A9', '/v1/a/c'],
        'safe': '%2Fv1%2Fa%2Fc', 'times': times, 'refused': 4}
