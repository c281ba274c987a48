# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck. OPERATING.md."""
