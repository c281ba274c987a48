# SPDX-License-Identifier: Apache-2.0
"""swift-losf-mount: what is in volumes, as directories and files."""
