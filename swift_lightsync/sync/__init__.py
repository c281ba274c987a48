# SPDX-License-Identifier: Apache-2.0
"""The LightSync object replicator: PROTOCOL.md describes it."""
