# SPDX-License-Identifier: Apache-2.0
"""Tables as lines for a terminal."""


def aligned(rows, right=False):
    """
    Return a line for each row, its cells below those of the others.

    :param rows: of cells, as text; each has as many
    :param right: whether cells stand at the right of their column
    :returns: lines, as a list
    """
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    put = str.rjust if right else str.ljust
    return ['  '.join(put(cell, width) for cell, width
                      in zip(row, widths)).rstrip() for row in rows]
