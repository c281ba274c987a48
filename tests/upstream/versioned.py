# SPDX-License-Identifier: Apache-2.0
"""
A proxy pipeline with the versioning filter where Swift's has its own
object versioning: right of symlink, in the place that a site gives it.

Swift's tests make their pipeline from Swift's sample of proxy-server.conf;
so the factories of the filters that stand there are replaced.
"""

from importlib import import_module

from swift.common.middleware import symlink, versioned_writes

from swift_lightsync.versioning.proxy import middleware

SITE = 'here'
_symlink_factory = symlink.filter_factory
_versioned_writes_factory = versioned_writes.filter_factory


def legacy_factory(global_conf, **local_conf):
    """versioned_writes, without Swift's object versioning."""
    return _versioned_writes_factory(
        global_conf, **dict(local_conf, allow_object_versioning='false'))


def _complete(memcache):
    """
    :param memcache: the class of Swift's tests that stands for memcached; it
        is given what a MemcacheRing has besides
    """
    def get_multi(self, keys, server_key, raise_on_error=False):
        return [self.get(key, raise_on_error) for key in keys]

    def set_multi(self, mapping, server_key, serialize=True, time=0,
                  raise_on_error=False):
        for key, value in mapping.items():
            self.set(key, value, serialize, time, raise_on_error)
    memcache.get_multi, memcache.set_multi = get_multi, set_multi


def symlink_factory(mode):
    """
    :param mode: of the versioning filter
    :returns: a factory of symlink, and the versioning filter right of it
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
