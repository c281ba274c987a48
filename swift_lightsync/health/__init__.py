# SPDX-License-Identifier: Apache-2.0
"""One health check over all systems: ``swift-lightsync-health``. HEALTH.md."""
