# SPDX-License-Identifier: Apache-2.0
"""Figures of the storage's own nodes, beside those of a run."""
