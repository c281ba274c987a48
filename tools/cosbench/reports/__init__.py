# SPDX-License-Identifier: Apache-2.0
"""Reports of a result: COSBench's CSV files, JSON, pages; comparisons."""

from cosbench.reports.archive import read_result, write_archive

__all__ = ['read_result', 'write_archive']
