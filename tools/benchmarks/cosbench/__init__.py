# SPDX-License-Identifier: Apache-2.0
"""What a request costs the HTTP client of COSBench's drivers."""
