# SPDX-License-Identifier: Apache-2.0
"""PROAR: writes that one device, the primary role, takes. PROTOCOL.md."""
