# SPDX-License-Identifier: Apache-2.0
"""Run swift-lightsync-report by ``python -m swift_lightsync.report``."""

import sys

from swift_lightsync.report.cli import main

sys.exit(main())
