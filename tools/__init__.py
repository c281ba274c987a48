# SPDX-License-Identifier: Apache-2.0
"""Tools for developers of swift-lightsync."""

import os

#: the repository that these tools are of
REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
