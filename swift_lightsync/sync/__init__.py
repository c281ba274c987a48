# SPDX-License-Identifier: Apache-2.0
"""The LightSync object replicator, which PROTOCOL.md describes."""
