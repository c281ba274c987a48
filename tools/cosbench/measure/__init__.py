# SPDX-License-Identifier: Apache-2.0
"""What was measured: samples, and the sums over them that merge."""
