# SPDX-License-Identifier: Apache-2.0
"""hunks: texts that fit none of the states of a file, or two."""

import pytest

from swift_lightsync.patching import PatchingError, hunks, series


def one_hunk(old, new):
    return series.FilePatch('one.patch', 'swift/x.py', (
        series.Hunk(1, 1, (old,), (new,)),))


def test_file_that_fits_two_states_is_refused():
    with pytest.raises(PatchingError) as caught:
        hunks.detect('x\n', [one_hunk('x\n', 'x\n')])
    assert '0 or 1' in str(caught.value)


def test_hunks_in_another_order_are_refused():
    first, second = (series.Hunk(number, number, (line,), ('new\n',))
                     for number, line in ((1, 'x\n'), (2, 'y\n')))
    with pytest.raises(PatchingError) as caught:
        hunks.detect('y\nx\n', [series.FilePatch(
            'one.patch', 'swift/x.py', (first, second))])
    assert 'hunk 2 does not fit: line 1 is not below' in str(caught.value)


@pytest.mark.parametrize('text, words', [
    ('', "line 1 should be 'x', but is '(end of file)'"),
    ('y\n', "line 1 should be 'x', but is 'y'"),
    ('x', "line 1 should be 'x\\n', but is 'x'"),
])
def test_text_that_fits_no_state_is_refused(text, words):
    with pytest.raises(PatchingError) as caught:
        hunks.detect(text, [one_hunk('x\n', 'z\n')])
    assert words in str(caught.value)
