# SPDX-License-Identifier: Apache-2.0
"""The tests of swift-lightsync-patch, on copies of Swift."""
