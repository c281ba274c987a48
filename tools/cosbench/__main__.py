# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.cosbench``"""

import sys

from tools.cosbench.cli import main

if __name__ == '__main__':
    sys.exit(main())
