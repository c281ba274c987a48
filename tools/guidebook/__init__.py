# SPDX-License-Identifier: Apache-2.0
"""The operator's guide: the documents beside the code, as one book."""
