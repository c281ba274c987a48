# SPDX-License-Identifier: Apache-2.0
"""Reports about LightSync for operators. See sync/RECON.md."""
