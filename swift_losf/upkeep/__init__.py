# SPDX-License-Identifier: Apache-2.0
"""What an index server does beside serving: recovery, giving space back."""
