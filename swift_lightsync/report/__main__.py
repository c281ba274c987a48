# SPDX-License-Identifier: Apache-2.0
"""``python -m swift_lightsync.report`` is swift-lightsync-report."""

import sys

from swift_lightsync.report.cli import main

sys.exit(main())
