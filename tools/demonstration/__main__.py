# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.demonstration``"""

import sys

from tools.demonstration.cli import main

if __name__ == '__main__':
    sys.exit(main())
