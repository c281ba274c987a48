# SPDX-License-Identifier: Apache-2.0
"""The manager of the index servers: ``swift-init object-losf start``.

It runs one index server for each local device and policy that keeps its
objects in volumes, for as long as the device is mounted and in the ring. A
server holds its device: to take one that is mounted, ``umount --lazy`` it, and
the server leaves within a second of the end of its last call.

Statsd: ``index_server.start.<device>.<policy>`` counts starts, and
``index_server.death.<device>.<policy>`` servers that nobody had told to end.
``index_server.moved.…`` and ``index_server.removed_volumes.…`` count what
compaction does.
Recon: object.recon has ``object_losf``: ``updated``, Unix time;
``valid_until``, by when a manager that runs has written it again: after that
the report is stale; and ``index_servers``, a list of objects with

    device, policy   its name, and the index of the policy
    state            one of supervisor.State
    pid, restarts    null if it does not run; how often it had died
    files, bytes …   of values.Statistics, with
    free_percent     of the device, or of where the index is if less is free
    is_full          whether only deletes are accepted, or
    error            why the server does not tell
"""

import os
import signal
import sys
import time
from functools import partial

from swift.common.concurrency import GreenPile, sleep, spawn
from swift.common.daemon import Daemon, run_daemon
from swift.common.recon import RECON_OBJECT_FILE
from swift.common.ring.utils import is_local_device
from swift.common.storage_policy import POLICIES
from swift.common.utils import (
    config_true_value,
    dump_recon_cache,
    get_logger,
    load_pkg_resource,
    parse_options,
    whataremyips,
)

from swift_losf.daemon.supervisor import (
    ManagedServer,
    ServerKey,
    Supervised,
    command,
)
from swift_losf.daemon.watched import RECON_KEY
from swift_losf.diskfile.kvmanager import KVManager
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from swift_losf.memory_directory import check_path
from swift_losf.mounts import Devices
from swift_losf.options import CompactOptions, LosfOptions, ManagerOptions

SECTION = 'object-losf'
#: statistics that statsd is told of as counters
COUNTED = ('moved', 'removed_volumes')
NO_ONCE = '%s serves for ever; it cannot be run once' % SECTION
#: seconds between two looks at mounts, rings and children
TICK = 0.5


def kv_policies(policies):
    """Return the policies that keep their objects in volumes, a list.

    :param policies: StoragePolicies
    """
    return [policy for policy in policies if issubclass(
        load_pkg_resource('swift.diskfile', policy.diskfile_module),
        KVManager)]


class IndexServerManager(Daemon):
    """Runs one index server for each device and policy of this node.

    :param conf: of the section object-losf, a dict
    :param logger: Swift's; made if it is None
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger=None):
        self.conf = conf
        self.logger = logger or get_logger(conf, log_route=SECTION)
        self.options = ManagerOptions.from_conf(conf)
        self.losf_options = LosfOptions.from_conf(conf)
        self.compact_options = CompactOptions.from_conf(conf)
        self.devices = Devices(
            conf.get('devices', '/srv/node'),
            config_true_value(conf.get('mount_check', 'true')))
        self.swift_dir = conf.get('swift_dir', '/etc/swift')
        self.ring_ip = conf.get('ring_ip', conf.get('bind_ip', '0.0.0.0'))
        self.port = (None if int(conf.get('servers_per_port', '0') or 0)
                     else int(conf.get('bind_port', 6200)))
        self.recon_file = os.path.join(
            conf.get('recon_cache_path', '/var/cache/swift'),
            RECON_OBJECT_FILE)
        self.policies = kv_policies(POLICIES)
        self._rings = []
        self._keys = set()
        self._servers = {}
        #: what statsd was told, by ServerKey
        self._counted: dict[ServerKey, dict[str, int]] = {}
        self._stopping = False

    def run_once(self, *args, **kwargs):
        self.logger.error(NO_ONCE)
        raise SystemExit(1)

    def run_forever(self, *args, **kwargs):
        """Run the index servers until SIGTERM."""
        signal.signal(signal.SIGTERM, self._on_sigterm)
        if not self.policies:
            self.logger.warning(
                'No storage policy has a diskfile_module that keeps objects '
                'in volumes: there is nothing to do')
        for policy in self.policies:
            policy.load_ring(self.swift_dir)
        reporter = spawn(self._report_forever)
        try:
            while not self._stopping:
                self.tend(time.monotonic())
                sleep(TICK)
        finally:
            reporter.kill()
            self.stop()

    def _on_sigterm(self, *args):
        self._stopping = True

    def _is_local(self, device, ips):
        return any(is_local_device(
            ips, self.port, device[each + 'ip'], device[each + 'port'])
            for each in ('', 'replication_'))

    def _layout(self, key):
        return Layout(self.devices.path(key.device), key.policy_index,
                      self.losf_options.index_path)

    def _has_socket(self, key):
        try:
            check_path(self._layout(key).socket)
        except ValueError as err:
            self.logger.error('no index server for %s: %s', key, err)
            return False
        return True

    def _find_keys(self, rings):
        ips = whataremyips(self.ring_ip)
        found = {ServerKey(device['device'], int(policy))
                 for policy, devices in zip(self.policies, rings)
                 for device in devices
                 if device and self._is_local(device, ips)}
        return {key for key in found if self._has_socket(key)}

    def server_keys(self):
        """Return the ServerKeys that the rings have for this node."""
        try:
            rings = [policy.object_ring.devs for policy in self.policies]
        except Exception as err:
            # Whatever is wrong with a ring, the servers must go on.
            self.logger.error('cannot read a ring, and go by the one before: '
                              '%s', err)
            return self._keys
        if not self._rings or any(new is not old for new, old in
                                  zip(rings, self._rings)):
            self._rings, self._keys = rings, self._find_keys(rings)
        return self._keys

    def tend(self, now):
        """Start, stop and restart servers as mounts and rings call for now."""
        self.devices.refresh()
        keys = self.server_keys()
        for key in keys - self._servers.keys():
            self._add(key)
        for key, server in list(self._servers.items()):
            wanted = key in keys
            server.supervised.argv = self.command(key)
            server.supervised.tend(
                self.devices.presence(key.device) if wanted else None, now)
            if not wanted and not server.supervised.pid:
                del self._servers[key]
            else:
                server.tell(self._part_power(key))

    def _part_power(self, key):
        return next((each.object_ring.part_power for each in self.policies
                     if int(each) == key.policy_index and each.object_ring),
                    None)

    def command(self, key):
        """Return the command line of the index server of a ServerKey."""
        return command(self._layout(key), self.options,
                       self.compact_options, self.losf_options.max_volume_size,
                       self.devices.mount_check,
                       self._part_power(key))

    def _add(self, key):
        layout = self._layout(key)
        self._servers[key] = ManagedServer(
            layout, Supervised(str(key), self.command(key), self.options,
                               self.logger),
            IndexClient(layout.socket, self.losf_options.index_timeout,
                        self.losf_options.index_retry_interval))

    def stop(self):
        """Stop all servers, and return when they have ended."""
        supervised = [server.supervised for server in self._servers.values()]
        give_up = time.monotonic() + 2 * self.options.stop_timeout
        for each in supervised:
            each.stop(time.monotonic())
        while any(each.pid for each in supervised):
            for each in supervised:
                each.tend(None, time.monotonic())
            if time.monotonic() > give_up:
                self.logger.error(
                    'left behind: index servers %s', ', '.join(
                        '%s (pid %d)' % (each.name, each.pid)
                        for each in supervised if each.pid))
                break
            sleep(TICK / 10)
        self._servers.clear()
        self.report()

    def _report_forever(self):
        while True:
            self.report()
            sleep(self.options.report_interval)

    def report(self):
        """Write the state of all servers into the recon cache."""
        pile = GreenPile(max(len(self._servers), 1))
        for key, server in sorted(self._servers.items()):
            pile.spawn(self._observe, key, server)
        seen = list(pile)
        now = time.time()
        dump_recon_cache({RECON_KEY: {
            'updated': now, 'valid_until': now + self.report_patience,
            'index_servers': seen}}, self.recon_file, self.logger)

    @property
    def report_patience(self):
        """The most seconds between two reports, if all goes well."""
        return (2 * self.options.report_interval
                + self.losf_options.index_timeout)

    def _count(self, key, known):
        before = self._counted.get(key, {})
        for name in COUNTED:
            # A server that was restarted counts from 0.
            more = known[name] - before.get(name, 0)
            self.logger.update_stats('index_server.%s.%s' % (name, key),
                                     more if more >= 0 else known[name])
        self._counted[key] = {name: known[name] for name in COUNTED}

    def _observe(self, key, server):
        return {'device': key.device, 'policy': key.policy_index,
                **server.observe(partial(self._count, key))}


def main():
    """Run the console script swift-object-losf."""
    conf_file, options = parse_options(once=True)
    if options['once']:
        sys.exit(NO_ONCE)
    run_daemon(IndexServerManager, conf_file, section_name=SECTION,
               **options)


if __name__ == '__main__':
    main()
