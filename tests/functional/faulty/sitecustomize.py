# SPDX-License-Identifier: Apache-2.0
"""First on PYTHONPATH, this has each Python process heed the ErrnoFaults."""

import os

if 'ERRNO_FAULTS' in os.environ:
    from tests.functional import errno_faults
    errno_faults.install(os.environ['ERRNO_FAULTS'])
