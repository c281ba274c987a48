# SPDX-License-Identifier: Apache-2.0
"""Run swift-lightsync-health by ``python -m swift_lightsync.health``."""

import sys

from swift_lightsync.health.cli import main

sys.exit(main())
