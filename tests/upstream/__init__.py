# SPDX-License-Identifier: Apache-2.0
"""Runs Swift's own test suites against this project's classes."""
