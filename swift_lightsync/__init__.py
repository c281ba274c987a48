# SPDX-License-Identifier: Apache-2.0
"""LightSync: light object sync for OpenStack Swift."""
