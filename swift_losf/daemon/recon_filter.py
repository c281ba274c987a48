# SPDX-License-Identifier: Apache-2.0
"""The paste filter ``egg:swift-lightsync#losf-recon`` of object-servers.

It replaces Swift's recon filter. With it, ``swift-recon -q`` also counts the
files in quarantine of the policies that keep objects in volumes, which are in
no directory below ``quarantined/``: as many as `object-losf` reported last.
"""

from swift.common.middleware.recon import ReconMiddleware

from swift_losf.daemon.watched import RECON_KEY


class LosfRecon(ReconMiddleware):
    """Swift's recon filter that counts files of volumes in quarantine too."""

    def get_quarantine_count(self):
        """
        Return counts as Swift's filter does, with those of the index servers.
        """
        counts = super().get_quarantine_count()
        reported = self._from_recon_cache(
            [RECON_KEY], self.object_recon_cache)[RECON_KEY] or {}
        for server in reported.get('index_servers', ()):
            # A server that does not run has not reported how many.
            files = server.get('quarantined', 0)
            policy = counts['policies'].setdefault(
                str(server['policy']), {'objects': 0})
            policy['objects'] += files
            counts['objects'] += files
        return counts


def filter_factory(global_conf, **local_conf):
    """Return the filter, for paste.deploy."""
    conf = dict(global_conf, **local_conf)

    def losf_recon(app):
        return LosfRecon(app, conf)

    return losf_recon
