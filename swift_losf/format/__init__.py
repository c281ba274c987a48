# SPDX-License-Identifier: Apache-2.0
"""The bytes of LOSF on disk: no I/O. FORMAT.md."""
