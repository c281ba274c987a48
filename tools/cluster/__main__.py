# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.cluster``"""

import signal
import sys

from tools.cluster.cli import main

if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # an exception, so that a cluster that is not up yet is rolled back
    signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(128 + signum))
    sys.exit(main())
