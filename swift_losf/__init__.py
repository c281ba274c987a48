# SPDX-License-Identifier: Apache-2.0
"""LOSF: a diskfile that packs small objects into volumes.

FORMAT.md is the design: what is on the disk, and why it survives a crash.
"""
