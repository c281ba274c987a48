# SPDX-License-Identifier: Apache-2.0
"""Volumes: files that records are appended to. FORMAT.md, "Volumes"."""
