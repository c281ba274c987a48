# SPDX-License-Identifier: Apache-2.0
"""Tools for developers of swift-lightsync."""

import os

from swift_lightsync.common.command import UsageError

#: the repository that these tools are of
REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class ToolError(UsageError):
    """A tool cannot go on; the text says what is wrong and what is allowed."""
