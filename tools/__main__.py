# SPDX-License-Identifier: Apache-2.0
"""``python -m tools NAME ARGUMENTS``: runs one of ``usage.TOOLS``."""

import importlib
import signal
import sys

from tools.usage import TOOLS

if __name__ == '__main__':
    # An exception, so that what was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(importlib.import_module(TOOLS[sys.argv[1]][0]).main(
            sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
