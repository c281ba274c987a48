# SPDX-License-Identifier: Apache-2.0
"""Conversion of a device from files to volumes, and back. OPERATING.md."""
