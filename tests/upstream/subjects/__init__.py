# SPDX-License-Identifier: Apache-2.0
"""One module for each subject: see tests/upstream/subject.py."""
