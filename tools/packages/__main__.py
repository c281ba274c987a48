# SPDX-License-Identifier: Apache-2.0
"""Run tools/package by ``python -m tools.packages``."""

import sys

from tools.packages.cli import main

sys.exit(main())
