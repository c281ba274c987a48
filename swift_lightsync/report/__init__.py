# SPDX-License-Identifier: Apache-2.0
"""What operators get to see of LightSync. See sync/RECON.md."""
