# SPDX-License-Identifier: Apache-2.0
"""
The paste filter ``egg:swift-lightsync#losf-recon`` of object-servers.

It is Swift's recon filter, and takes its place. Only, ``swift-recon -q`` also
counts the files that policies of volumes have in quarantine, which are in no
directory below ``quarantined/``: as many as `object-losf` has last reported.
"""

from swift.common.middleware.recon import ReconMiddleware

from swift_losf.daemon.manager import RECON_KEY


class LosfRecon(ReconMiddleware):
    """Swift's recon filter, and files in quarantine."""

    def get_quarantine_count(self):
        """:returns: a dict of counts, as Swift's filter has it"""
        counts = super().get_quarantine_count()
        reported = self._from_recon_cache(
            [RECON_KEY], self.object_recon_cache)[RECON_KEY] or {}
        for server in reported.get('index_servers', ()):
            # None is known of a server that does not run.
            files = server.get('quarantined', 0)
            policy = counts['policies'].setdefault(
                str(server['policy']), {'objects': 0})
            policy['objects'] += files
            counts['objects'] += files
        return counts


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    conf = dict(global_conf, **local_conf)

    def losf_recon(app):
        return LosfRecon(app, conf)

    return losf_recon
