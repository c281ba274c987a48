# SPDX-License-Identifier: Apache-2.0
"""What an index server does besides: recovery, giving space back."""
