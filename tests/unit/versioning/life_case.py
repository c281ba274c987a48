# SPDX-License-Identifier: Apache-2.0
"""What tests of containers that live and die at all sites have in common."""

from tests.unit.versioning.sites_world import CONTAINER, SitesTestCase


class LifeCase(SitesTestCase):

    def records(self):
        return [site.strategy.life() for site in self.sites]

    def exist(self):
        """Where the container exists."""
        return [site.name for site in self.sites if site.has(CONTAINER)]
