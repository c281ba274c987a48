# SPDX-License-Identifier: Apache-2.0
"""``bench sync``: the object replicators, LightSync and stock."""
