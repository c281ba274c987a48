# SPDX-License-Identifier: Apache-2.0
"""A simulator of LightSync: the product's core with a clock, a network and
disks of its own. README.md says what is exact, and what is a model.
"""
