# SPDX-License-Identifier: Apache-2.0
"""The unit tests of swift_losf."""
