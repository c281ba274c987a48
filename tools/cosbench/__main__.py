# SPDX-License-Identifier: Apache-2.0
"""``python -m cosbench``"""

import sys

from cosbench.commands.cli import main

if __name__ == '__main__':
    sys.exit(main())
