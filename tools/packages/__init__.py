# SPDX-License-Identifier: Apache-2.0
"""Makes what operators install: a Debian package with all that it needs."""
