# SPDX-License-Identifier: Apache-2.0
"""Each patch is held by what Swift does with it and without it."""
