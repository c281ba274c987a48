# SPDX-License-Identifier: Apache-2.0
"""Bytes that nobody meant, for every parser that takes bytes from outside."""
