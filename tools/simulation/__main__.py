# SPDX-License-Identifier: Apache-2.0
"""Runs the simulator: ``python -m tools.simulation``."""

import sys

from tools.simulation.cli import main

if __name__ == '__main__':
    sys.exit(main())
