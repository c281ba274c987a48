# SPDX-License-Identifier: Apache-2.0
"""
The propagator, ``swift-init container-propagator start`` (VERSIONING.md §5).

It runs beside the container servers, on each of their nodes, and follows the
rows of versions in their databases: it ships to each other site what is new
and what the site lacks. It also looks after listing rows, objects from before
versioning and purge records. When it dies, it or another propagator finds the
unfinished work again.
"""

import os
import time
from functools import partial
from signal import SIGTERM, signal
from types import SimpleNamespace
from typing import Any

from swift.common.concurrency import GreenPool, Timeout, sleep, spawn
from swift.common.daemon import Daemon, run_daemon
from swift.common.http import HTTP_NOT_FOUND
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.ring import Ring
from swift.common.ring.utils import is_local_device
from swift.common.utils import (
    EventletRateLimiter,
    config_true_value,
    dump_recon_cache,
    get_logger,
    parse_options,
    whataremyips,
)

from swift_lightsync.versioning.core.verb import Request, encoded
from swift_lightsync.versioning.rows.replicas import Replicas
from swift_lightsync.versioning.rows.rows import Rows
from swift_lightsync.versioning.sites.compare_task import CompareTask
from swift_lightsync.versioning.sites.databases import Databases
from swift_lightsync.versioning.sites.life import LifeTask
from swift_lightsync.versioning.sites.lifecycle import Lifecycle
from swift_lightsync.versioning.sites.local_data import LocalData, make_client
from swift_lightsync.versioning.sites.options import (
    PropagatorOptions,
    SiteOptions,
)
from swift_lightsync.versioning.sites.outgoing import Reader
from swift_lightsync.versioning.sites.peer_client import PeerClient
from swift_lightsync.versioning.sites.peer_task import PeerTask
from swift_lightsync.versioning.sites.sync_state import (
    FILE,
    KEY,
    PeerLag,
    SyncState,
)
from swift_lightsync.versioning.sites.task_runner import TaskRunner
from swift_lightsync.versioning.sites.upkeep_tasks import (
    AdoptTask,
    PurgeTask,
    RepairTask,
)
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)

SECTION = 'container-propagator'
#: Seconds that sync points wait for those of other tasks: what is lost with a
#: process that dies is offered again.
FLUSH_AFTER = 30
#: Seconds for which one that is told to end stores them, and until it sees so.
FLUSH_MOST = 5
ATTENTION = 1


class VersionsPropagator(Daemon):
    """The daemon: runs a task for each peer and the upkeep of this site.

    :param conf: of the section container-propagator, a dict
    :param logger: Swift's; made if it is None
    :param ring: of containers; loaded if it is None
    :param swift: an InternalClient; made if it is None
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger=None, ring=None, swift=None):
        self.conf = conf
        self.logger = logger or get_logger(conf, log_route=SECTION)
        self.sites = SiteOptions.from_conf(conf)
        self.options = PropagatorOptions.from_conf(conf)
        swift_dir = conf.get('swift_dir', '/etc/swift')
        self.ring = ring or Ring(swift_dir, ring_name='container')
        self.recon_file = os.path.join(
            conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH), FILE)
        self._ips = whataremyips(
            conf.get('ring_ip', conf.get('bind_ip', '0.0.0.0')))
        self._port = int(conf.get('bind_port', 6201))
        # What it stamps nobody compares with a clock.
        self._clock = self.sites.clock(0)
        self.source = LocalData(swift or make_client(
            conf.get('internal_client_conf_path'), SECTION, swift_dir))
        self.databases = Databases(
            conf.get('devices', '/srv/node'),
            config_true_value(conf.get('mount_check', 'true')),
            self.sites.site, self.logger, self.source.mode_of, self._place)
        self._app = SimpleNamespace(container_ring=self.ring,
                                    conn_timeout=self.options.conn_timeout,
                                    node_timeout=self.options.node_timeout)
        self.replicas = Replicas(self._app, self.logger)
        peers = self.sites.peers()
        #: the names of all peers
        self.peers = list(peers)
        self._reader = Reader(self.source, len(peers))
        self.peer_tasks = list(map(self._peer_task, peers.values()))
        self.upkeep: dict[str, Any] = {
            'adopt': AdoptTask(self), 'repair': RepairTask(self),
            'purge': PurgeTask(self), 'life': LifeTask(self)}
        self.lifecycle = Lifecycle(self)
        self.comparing = [CompareTask(self, task) for task in self.peer_tasks]
        self.runners = [TaskRunner(task, self.databases, self.options,
                                   self.logger)
                        for task in [*self.peer_tasks, *self.upkeep.values()]]

    def _peer_task(self, peer):
        options = self.options
        rate = EventletRateLimiter(options.max_bytes_per_second)
        versions = EventletRateLimiter(options.max_versions_per_second)
        client = PeerClient(peer, self.sites.site, options,
                            lambda size: rate.wait(incr_by=size))
        return PeerTask(client, self._reader, options, self.logger,
                        versions.wait)

    def strategy(self, database):
        """Return the strategy of the container of a ``Database``."""
        cls = ReadRepair if database.mode == 'read-repair' else WriteRepair
        rows = Rows(self._app, self.logger, database.account,
                    database.container)
        return cls(rows, self._clock, self.sites.site, time.time,
                   bool(self.peers))

    def _place(self, database):
        """Return the place of a database in its container's ring, and how many
        places there are; the place is None if the ring does not name this
        node.
        """
        nodes = self.ring.get_nodes(database.broker.account,
                                    database.broker.container)[1]
        for ordinal, node in enumerate(nodes):
            if node['device'] == database.device and any(
                    is_local_device(self._ips, self._port,
                                    node[kind + 'ip'], node[kind + 'port'])
                    for kind in ('', 'replication_')):
                return ordinal, len(nodes)
        return None, len(nodes)

    def first_replicas(self):
        """Return the databases of hidden containers, none of shards, that are
        the first replica which is there: no server before it has one.
        """
        gone: set[int] = set()
        return [each for each in self.databases.roots()
                if self.is_first(each, gone)]

    def is_first(self, database, gone):
        """Check that no server before this one has a database.

        :param gone: ids of devices that have not answered: each is waited for
            once
        """
        ordinal, _ = database.place
        place = database.broker.account, database.broker.container
        part, nodes = self.ring.get_nodes(*place)
        for node in nodes[:ordinal or 0]:
            if node['id'] in gone:
                continue
            reply = self.replicas.request(node, part, place,
                                          encoded(Request()))
            if reply.good:
                return False
            if reply.status != HTTP_NOT_FOUND:
                gone.add(node['id'])
        return ordinal is not None

    def run_once(self, *args, **kwargs):
        """Do all work that is due, with the sites that answer."""
        self.databases.scan()
        # What has no row yet gets it first.
        order = sorted(self.runners, key=lambda runner:
                       runner.task is not self.upkeep['adopt'])
        order[0].run_all()
        pool = GreenPool(len(order))
        for runner in order[1:]:
            pool.spawn(runner.run_all)
        pool.waitall()
        for comparing in self.comparing:
            comparing.run_pass()
        self.lifecycle.run_pass()
        self.databases.flush()
        self.report()

    def run_forever(self, *args, **kwargs):
        """Follow the rows until SIGTERM."""
        # They begin with what is found first.
        started = [spawn(each.run_forever) for each in self.runners]
        self._guarded(self.databases.scan)
        whole: list[Any] = [*self.comparing, self.lifecycle]
        started += [spawn(each.run_forever) for each in whole]
        scan_at = time.monotonic() + self.options.scan_interval
        ended: list[Any] = []
        end: Any = signal(SIGTERM, lambda *args: ended.append(args))
        while True:
            sleep(min(self.options.interval, self.options.scan_interval,
                      ATTENTION))
            if ended:
                for each in started:
                    each.kill()
                self._guarded(partial(self.databases.flush, most=FLUSH_MOST))
                return end(*ended[0]) if callable(end) else None
            if time.monotonic() >= scan_at:
                self._guarded(self.databases.scan)
                scan_at = time.monotonic() + self.options.scan_interval
            else:
                self._guarded(self.databases.look_for_new)
            self._guarded(self.report)
            self._guarded(partial(self.databases.flush, FLUSH_AFTER))

    def _guarded(self, step):
        try:
            step()
        except (Exception, Timeout):
            # Nothing is lost: the next look sees the same.
            self.logger.exception('Unable to follow all containers')

    def state(self):
        """Return the present ``SyncState``."""
        lags = {runner.task: runner.lag() for runner in self.runners
                if runner.task in self.peer_tasks}

        def error(task, comparing):
            return task.error if lags[task].rows or \
                task.backoff.failures else comparing.error
        return SyncState(
            self.sites.site, time.time(), sum(1 for _ in self.databases),
            self.upkeep['repair'].repaired, self.upkeep['purge'].removed,
            tuple(PeerLag(task.name, lags[task].rows, lags[task].oldest,
                          task.shipped, task.shipped_bytes,
                          task.backoff.failures, task.backoff.until,
                          error(task, comparing), comparing.compared,
                          comparing.differing, comparing.since)
                  for task, comparing in zip(self.peer_tasks,
                                             self.comparing)))

    def report(self):
        """Write into recon how far the other sites are behind."""
        state = self.state()
        dump_recon_cache({KEY: state.to_json()}, self.recon_file,
                         self.logger)
        for peer in state.peers:
            self.logger.update_stats('waiting.%s' % peer.site, peer.rows)


def main():
    """Run the console script swift-container-propagator."""
    conf_file, options = parse_options(once=True)
    run_daemon(VersionsPropagator, conf_file, section_name=SECTION, **options)


if __name__ == '__main__':
    main()
