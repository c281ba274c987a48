# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.benchmarks``"""

import sys

from tools.benchmarks.cli import main

if __name__ == '__main__':
    sys.exit(main())
