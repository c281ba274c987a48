# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of this project against stock Swift; README.md has more."""
