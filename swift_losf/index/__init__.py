# SPDX-License-Identifier: Apache-2.0
"""The index of a device, and the client that Swift's processes ask it by."""
