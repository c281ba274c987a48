# SPDX-License-Identifier: Apache-2.0
"""Classes and factories of ours as Swift's tests need them; see ``subject``.
"""

import os
import tempfile
from collections import ChainMap
from importlib import import_module

from swift.common.middleware import symlink, versioned_writes
from swift.obj.diskfile import BaseDiskFileManager

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proxy_server import Application
from swift_lightsync.sync.replicator import LightSyncReplicator
from swift_lightsync.versioning.proxy import middleware

GET_HASHES = BaseDiskFileManager._get_hashes
FUNCTIONAL = 'SWIFT_TEST_IN_PROCESS'
SITE = 'here'
_symlink_factory = symlink.filter_factory
_versioned_writes_factory = versioned_writes.filter_factory


class Unmocked:
    """A diskfile manager for our own code: tests mock the stock method for the
    whole process, to count what Swift's code asks for.
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
        """Return those of the installed class, past mocks."""
        prints = super().fingerprints(policy)
        if not isinstance(prints.df_mgr, Unmocked):
            prints.df_mgr = Unmocked(prints.df_mgr)
        return prints


class PrimaryRoleApplication(Application):
    """The proxy app, with the options of its policy where they matter."""

    def __init__(self, conf, *args, **kwargs):
        if FUNCTIONAL in os.environ:
            conf = dict(conf, policy_config={
                '0': {'primary_role_writes': 'true'}})
        super().__init__(conf, *args, **kwargs)


class UnboundedController(ObjectController):
    """The object server, which waits for no converger."""

    def __init__(self, conf, *args, **kwargs):
        super().__init__(dict(conf, max_lag_entries='0', max_lag_seconds='0'),
                         *args, **kwargs)


def legacy_factory(global_conf, **local_conf):
    """Return versioned_writes, without Swift's object versioning."""
    return _versioned_writes_factory(
        global_conf, **dict(local_conf, allow_object_versioning='false'))


def _complete(memcache):
    """Give the memcached of Swift's tests what a MemcacheRing has besides."""
    def get_multi(self, keys, server_key, raise_on_error=False):
        return [self.get(key, raise_on_error) for key in keys]

    def set_multi(self, mapping, server_key, serialize=True, time=0,
                  raise_on_error=False):
        for key, value in mapping.items():
            self.set(key, value, serialize, time, raise_on_error)
    memcache.get_multi, memcache.set_multi = get_multi, set_multi


def symlink_factory(mode):
    """Return a factory of symlink with the versioning filter right of it.

    Swift's tests make their pipeline from Swift's sample of
    proxy-server.conf; so the factories of the filters there are replaced.

    :param mode: of the versioning filter
    """
    def factory(global_conf, **local_conf):
        # Only where Swift's tests are there is what they have.
        _complete(import_module('test.unit').FakeMemcache)
        make_symlink = _symlink_factory(global_conf, **local_conf)
        make_versioning = middleware.filter_factory(
            global_conf, mode=mode, site=SITE, site_preference=SITE)
        return lambda app: make_symlink(make_versioning(app))
    return factory


write_repair_factory = symlink_factory('write-repair')
read_repair_factory = symlink_factory('read-repair')
