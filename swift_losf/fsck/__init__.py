# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck: checks and repairs index and volumes. OPERATING.md."""
