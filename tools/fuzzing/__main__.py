# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.fuzzing``: see cli."""

import sys

from tools.fuzzing.cli import main

if __name__ == '__main__':
    sys.exit(main())
