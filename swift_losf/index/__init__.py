# SPDX-License-Identifier: Apache-2.0
"""The index of a device: its server, and the client of Swift's processes."""
