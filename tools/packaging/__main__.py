# SPDX-License-Identifier: Apache-2.0
"""Run tools/package by ``python -m tools.packaging``."""

import sys

from tools.packaging.cli import main

sys.exit(main())
