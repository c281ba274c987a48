# SPDX-License-Identifier: Apache-2.0
"""Hours in which all goes wrong: ``tools/chaos``.

A seed gives the events (``events``) that strike sites (``world``) while
clients (``clients``) write and read. Afterwards all is healed, and what was
acknowledged (``history``) has to be there, the same at all replicas and sites.
"""
