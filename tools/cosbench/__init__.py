# SPDX-License-Identifier: Apache-2.0
"""A COSBench for today's Swift: workloads, drivers, controller."""
