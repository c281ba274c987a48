# SPDX-License-Identifier: Apache-2.0
"""The converger: ``swift-init object-converger start``.

It follows the logs of this node's devices, and pushes what they name to the
other devices of each partition. PROTOCOL.md, "Convergence"; OPERATING.md says
what it logs, counts and records.
"""

import os
import socket
import time
from collections import defaultdict
from functools import partial
from typing import Any

from swift.common.concurrency import Timeout, sleep
from swift.common.daemon import Daemon, run_daemon
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.ring.utils import is_local_device
from swift.common.storage_policy import POLICIES, REPL_POLICY
from swift.common.utils import (
    EventletRateLimiter,
    distribute_evenly,
    dump_recon_cache,
    get_logger,
    modify_priority,
    parse_options,
    whataremyips,
)
from swift.obj.diskfile import DiskFileRouter

from swift_lightsync.common.parent import end_with_parent
from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.proar.converger.converger_options import ConvergerOptions
from swift_lightsync.proar.converger.followed_device import FollowedDevice
from swift_lightsync.proar.converger.log_watch import LogWatch
from swift_lightsync.proar.converger.one_process import be_alone
from swift_lightsync.proar.converger.peer_queue import PeerQueues
from swift_lightsync.proar.converger.pusher import PushOptions
from swift_lightsync.proar.lag import FILE, forget, recorded
from swift_lightsync.proar.vouching.rounds import Rounds

SECTION = 'object-converger'
#: seconds from an event to the look for all that have come; and between two
#: looks, so that what comes in a row is pushed together
TICK, BETWEEN = 0.05, 0.2
#: ... and at rings, and for telling how far all are
REPORT = 1.0
#: ... and for telling it again though nothing has changed
AT_LEAST = 5.0
#: Clients come first, unless the section says otherwise.
IDLE = {'nice_priority': '19', 'ionice_class': 'IOPRIO_CLASS_IDLE'}


class ObjectConverger(Daemon):
    """Follows the logs of a node's devices.

    :param conf: of the section object-converger, a dict
    :param logger: Swift's; made if it is None
    :raises OptionError: if an option has a value that is not allowed
    """

    WORKERS_HEALTHCHECK_INTERVAL = 1.0
    watch: LogWatch
    peer_queues: PeerQueues

    def __init__(self, conf, logger=None):
        self.conf = conf
        self.logger = QuietLogger(
            logger or get_logger(conf, log_route=SECTION))
        self.options = ConvergerOptions.from_conf(conf)
        self.swift_dir = conf.get('swift_dir', '/etc/swift')
        self.ring_ip = conf.get('ring_ip', conf.get('bind_ip', '0.0.0.0'))
        self.port = (None if int(conf.get('servers_per_port', '0') or 0)
                     else int(conf.get('bind_port', 6200)))
        self.recon_file = os.path.join(
            conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH), FILE)
        self.policies = [policy for policy in POLICIES
                         if policy.policy_type == REPL_POLICY]
        self.router = DiskFileRouter(conf, self.logger)
        self.devices: list[FollowedDevice] = []
        self.rounds = Rounds(
            lambda: [asker for device in self.devices
                     for asker in device.askers()],
            self.options.vouch_seconds, self.logger)
        self._rings: list[list] = []
        #: a socket: no other converger has these devices; None: not yet sure
        self._alone: socket.socket | None = None
        #: names of the devices that this process follows; None: all
        self._only: list[str] | None = None
        self._worker_count = 1
        #: what was recorded last, and when
        self._reported: Any = None
        self._reported_at = 0.0
        self._shared_out: list[str] = []

    def get_worker_args(self, once=False, **kwargs):
        """Share out the devices among worker processes.

        :raises SystemExit: if another converger follows these devices
        """
        self._be_alone()
        self._load_rings()
        self._shared_out = sorted(self.local_devices())
        forget(self.recon_file, self._shared_out, self.logger)
        count = min(self.options.workers, len(self._shared_out))
        if once or count < 2:
            return []
        return [{'override_devices': devices, 'worker_count': count}
                for devices in distribute_evenly(self._shared_out, count)]

    def is_healthy(self):
        """Return whether the devices are those that were shared out."""
        return sorted(self.local_devices()) == self._shared_out

    def run(self, *args, **kwargs):
        """Run alone of those that follow these devices, when others are idle.

        :raises SystemExit: if another one runs
        """
        self._be_alone()
        if kwargs.get('override_devices'):
            end_with_parent()
        modify_priority({**IDLE, **self.conf}, self.logger)
        super().run(*args, **kwargs)

    def _be_alone(self):
        if self._alone is None:
            self._alone = be_alone(
                SECTION, self.conf.get('devices', '/srv/node'), self.port)

    def run_once(self, *args, **kwargs):
        """Push what the logs have now to the devices that answer."""
        self._begin(once=True)
        for device in self.devices:
            device.follow_once()
        while not self.peer_queues.are_idle:
            sleep(TICK)
        self.rounds.ask_all()
        for device in self.devices:
            device.tend(once=True)
        self.report()
        self.peer_queues.close_idle(0)
        self.watch.close()

    def run_forever(self, override_devices=None, worker_count=1, **kwargs):
        """Follow the logs until SIGTERM.

        :param override_devices: names of the devices to follow; all by
            default
        :param worker_count: how many processes share the rates
        """
        self._only = override_devices
        self._worker_count = worker_count
        self._begin()
        for device in self.devices:
            device.start()
        self.rounds.start()
        report_at = looked_at = 0.0
        while True:
            try:
                looked_at = time.monotonic()
                self.notice_events()
                if time.monotonic() >= report_at:
                    report_at = time.monotonic() + REPORT
                    self.follow_rings()
                    self.peer_queues.close_idle()
                    self.report()
                self.watch.wait(report_at - time.monotonic())
            except (Exception, Timeout):
                # Nothing is lost: the next look sees the same.
                self.logger.exception_of('follow', 'Unable to follow the logs')
            sleep(max(TICK, looked_at + BETWEEN - time.monotonic()))

    def _load_rings(self):
        for policy in self.policies:
            policy.load_ring(self.swift_dir)

    def _begin(self, once=False):
        self._load_rings()
        bodies, objects = (
            EventletRateLimiter(rate / self._worker_count) for rate in (
                self.options.max_bytes_per_second,
                self.options.max_objects_per_second))
        self.watch = LogWatch()
        self.peer_queues = PeerQueues(
            self.options, PushOptions(
                self.options.conn_timeout, self.options.node_timeout,
                lambda size: bodies.wait(incr_by=size),
                lambda count: objects.wait(incr_by=count)),
            self.logger, once)
        self._rings = self._ring_devices()
        self.devices = self.find_devices()

    def _ring_devices(self):
        return [policy.object_ring.devs for policy in self.policies]

    def _is_local(self, node, ips):
        return any(is_local_device(ips, self.port, node[prefix + 'ip'],
                                   node[prefix + 'port'])
                   for prefix in ('', 'replication_'))

    def local_devices(self):
        """Return this node's devices.

        :returns: a dict of name -> [(StoragePolicy, node of its ring)]
        """
        ips = whataremyips(self.ring_ip)
        nodes = defaultdict(list)
        for policy, found in zip(self.policies, self._ring_devices()):
            for node in found:
                if node and self._is_local(node, ips):
                    nodes[node['device']].append((policy, node))
        return nodes

    def find_devices(self):
        """Return a FollowedDevice for each device that is to be followed."""
        return [FollowedDevice(name, found, self.router, self.watch,
                               self.peer_queues, self.options, self.logger,
                               partial(self._rings_agree, found))
                for name, found in sorted(self.local_devices().items())
                if self._only is None or name in self._only]

    def _rings_agree(self, nodes, since):
        return all(self.rounds.rings_agree(policy, node['id'], since)
                   for policy, node in nodes)

    def notice_events(self):
        """Tell the devices what has changed on them."""
        for path, name in self.watch.events():
            for device in self.devices:
                device.notice(path, name)

    def follow_rings(self):
        """Begin anew if a ring has changed."""
        rings = self._ring_devices()
        if all(new is old for new, old in zip(rings, self._rings)):
            return
        self.logger.info('A ring has changed')
        self._rings = rings
        for device in self.devices:
            device.stop()
        self.peer_queues.clear()
        self.devices = self.find_devices()
        for device in self.devices:
            device.start()

    def report(self):
        """Record in recon how far the peers of all devices are behind.

        What has not changed is recorded seldom: it costs more than to see so.
        """
        now = time.time()
        found = ({device.name: device.lags(now) for device in self.devices},
                 self.rounds.report(now))
        if found == self._reported and now - self._reported_at < AT_LEAST:
            return
        self._reported, self._reported_at = found, now
        dump_recon_cache(recorded(found[0], now, found[1]), self.recon_file,
                         self.logger)


def main():
    """The console script swift-object-converger."""
    conf_file, options = parse_options(once=True)
    run_daemon(ObjectConverger, conf_file, section_name=SECTION, **options)


if __name__ == '__main__':
    main()
