# SPDX-License-Identifier: Apache-2.0
"""LightSync that compares every partition with all replicas in every pass.

A full exchange is what it has in common with stock Swift, so that tests hold
here which count the nodes of a pass. Their mocks are kept to Swift's own
code, and nodes to their order, which tests read out of Swift's own jobs.
"""

import tempfile
from collections import ChainMap

from swift.obj.diskfile import BaseDiskFileManager

from swift_lightsync.sync.replicator import LightSyncReplicator
from tests.upstream.subject import Private, Row, Sabotage, Subject

GET_HASHES = BaseDiskFileManager._get_hashes


class Unmocked:
    """
    A diskfile manager for our own code: tests mock the stock method for the
    whole process, to count what Swift's code asks for.

    :param df_mgr: the diskfile manager
    """

    def __init__(self, df_mgr):
        self._df_mgr = df_mgr

    def __getattr__(self, name):
        return getattr(self._df_mgr, name)

    def _get_hashes(self, *args, **kwargs):
        return GET_HASHES(self._df_mgr, *args, **kwargs)


class FullExchangeReplicator(LightSyncReplicator):
    """LightSync with the options that give up its sync rounds."""

    def __init__(self, conf, logger=None):
        options = {'full_exchange_interval': '0',
                   'sync_batch_partitions': '1',
                   'recon_cache_path': tempfile.mkdtemp()}
        # A view, for tests change the dict that they have passed.
        super().__init__(ChainMap(conf, options), logger=logger)

    def fingerprints(self, policy):
        """Those of the installed class, past mocks."""
        prints = super().fingerprints(policy)
        if not isinstance(prints.df_mgr, Unmocked):
            prints.df_mgr = Unmocked(prints.df_mgr)
        return prints


def in_order(_nodes):
    """A shuffle that changes nothing."""


SUBJECT = Subject(
    rows=(
        Row('swift.obj.replicator:ObjectReplicator',
            'tests.upstream.subjects.full_exchange:FullExchangeReplicator',
            (Sabotage('update', 'replicator', 10),)),),
    suites=('replicator',),
    privates=(
        Private('swift.obj.replicator:tpool'),
        Private('swift.obj.replicator:random', {'shuffle': in_order})))
