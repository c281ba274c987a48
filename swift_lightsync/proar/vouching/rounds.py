# SPDX-License-Identifier: Apache-2.0
"""The rounds of questions that a converger asks for the devices of its node.

PROTOCOL.md, "Vouching".
"""

import os
import time
from collections import defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

from swift.common.concurrency import GreenPool, Timeout, sleep, spawn, tpool

from swift_lightsync.proar.core.filling import NS
from swift_lightsync.proar.core.standing import Standing, Told
from swift_lightsync.proar.lag import DeviceStanding
from swift_lightsync.proar.log.holdings import log_position
from swift_lightsync.proar.vouching.clock import boot_id, now_ns
from swift_lightsync.proar.vouching.losses import unfilled
from swift_lightsync.proar.vouching.places import version_of
from swift_lightsync.proar.vouching.questions import (
    nodes_of,
    of_node,
    put_question,
    told_by,
)
from swift_lightsync.proar.vouching.standings import Standings
from swift_lightsync.proar.vouching.uses import Uses
from swift_lightsync.proar.wire.messages import Ask

#: Nodes that are asked at the same time.
CONCURRENCY = 200
#: of vouch_seconds: from one look to the next, and what an answer may take
PERIOD = 1 / 3
PATIENCE = 1 / 4
#: ... how long a peer is asked after a read has last needed its word
KEPT = 20
#: ... after which all are asked again, though nothing has happened; and how
#: many nodes may be asked in a second for that
ALL_EVERY = 10
NODES_PER_SECOND = 10


class Asker(NamedTuple):
    """A device for which is asked, in one policy.

    :param node: the device, a dict of the policy's ring
    :param policy: a StoragePolicy
    :param manager: its DiskFileManager
    """
    node: dict[str, Any]
    policy: Any
    manager: Any

    @property
    def path(self) -> str:
        """Of the device."""
        return os.path.join(self.manager.devices, self.node['device'])

    def is_mounted(self) -> bool:
        """Return whether the device can be used."""
        return bool(self.manager.get_dev_path(self.node['device']))


class Rounds:
    """Asks for the devices of a node, as long as it runs.

    Peers are asked while reads need their word. All are asked seldom, and
    when something may have changed.

    :param devices: a function that returns the node's Askers
    :param seconds: how long an answer counts
    :param logger: a QuietLogger
    """

    def __init__(self, devices, seconds, logger):
        self._devices = devices
        self._seconds = seconds
        self._logger = logger
        #: (policy index, device id) -> its Standing
        self.standings: dict[tuple[int, int], Standing] = {}
        #: the same -> since when a device has not vouched for it, Unix time
        self._silent_since: dict[tuple[int, int], float] = {}
        #: the same -> its Standing, if the device does not take it
        self._unnoted: dict[tuple[int, int], Standing] = {}
        #: the same -> the Uses, and peer -> when a read needed its word last
        self._uses: dict[tuple[int, int], Uses] = {}
        self._used: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        #: of a device's path and a policy
        self._file = lru_cache(maxsize=None)(Standings)

    def start(self):
        """Ask from now on."""
        spawn(self._run)

    def report(self, now):
        """Return how the devices stand: DeviceStandings by their names.

        :param now: Unix time
        """
        found = defaultdict(list)
        for device in self._devices():
            if (int(device.policy), device.node['id']) in self.standings:
                found[device.node['device']].append(
                    self._report_of(device, now))
        return found

    def _report_of(self, device, now):
        key = int(device.policy), device.node['id']
        standing = self.standings[key]
        peers = {node['id'] for node in device.policy.object_ring.devs
                 if node and node['weight']} - {device.node['id']}
        silent = tuple(sorted({
            *standing.unheard(peers), *standing.silent(
                now_ns(), peers & self._used[key].keys())}))
        if silent:
            self._silent_since.setdefault(key, now)
        else:
            self._silent_since.pop(key, None)
        return DeviceStanding(
            device.node['device'], int(device.policy), standing.ring, silent,
            self._silent_since.get(key),
            tuple(sorted(peer for peer, told in standing.told.items()
                         if told.is_older)),
            len({place for told in standing.told.values()
                 for place in told.held}), standing.others(),
            *unfilled(device.manager, device.policy.object_ring, standing))

    def rings_agree(self, policy, device, since):
        """Return whether all who answer have the ring that a device has.

        :param since: when all have to have been asked, nanoseconds
        """
        standing = self.standings.get((int(policy), device))
        return standing is not None and standing.agrees(standing.ring, since)

    def _run(self):
        while True:
            began = time.monotonic()
            try:
                self.ask_those_needed()
            except (Exception, Timeout):
                # Nothing is lost: who is not vouched has others asked.
                self._logger.exception_of('rounds',
                                          'Unable to ask for vouches')
            sleep(max(0.0, began + self._seconds * PERIOD
                      - time.monotonic()))

    def ask_all(self):
        """Ask all peers of all devices."""
        self._ask_each(lambda policy, devices: None)

    def ask_those_needed(self):
        """Ask those whose word is needed, or may have changed."""
        self._ask_each(self._needed)

    def _ask_each(self, needed):
        """Ask for all devices that can be used.

        :param needed: a function of a policy and its Askers: which peers are
            asked for each of these; None: all
        """
        of_policy = defaultdict(list)
        for device in self._devices():
            if device.is_mounted() and self._can_note(device):
                of_policy[device.policy].append(device)
        present = {(int(policy), device.node['id'])
                   for policy, devices in of_policy.items()
                   for device in devices}
        self.standings = {key: standing for key, standing
                          in self.standings.items() if key in present}
        pool = GreenPool(CONCURRENCY)
        for policy, devices in of_policy.items():
            peers = needed(policy, devices)
            if peers is None or any(peers.values()):
                pool.spawn_n(self._ask_for, policy, devices, peers)
        pool.waitall()

    def _can_note(self, device):
        """Return whether what is answered for a device can be noted.

        If not, it must not be asked for: a promise that nobody counts on
        would hold fail-over writes up.
        """
        key = int(device.policy), device.node['id']
        if key not in self._unnoted:
            return True
        self._write(device, self._unnoted[key])
        return key not in self._unnoted

    def _write(self, device, standing):
        key = int(device.policy), device.node['id']
        self._unnoted.pop(key, None)
        try:
            tpool.execute(self._file(device.path, device.policy).write,
                          standing)
        except OSError as err:
            self._unnoted[key] = standing
            self._logger.debug('Unable to note how %s stands: %s', device,
                               err)

    def _needed(self, policy, devices):
        """Return the ids of the peers to ask for each asker; None: all."""
        now = now_ns()
        found = {}
        for device in devices:
            key = int(policy), device.node['id']
            uses = self._uses.setdefault(key, Uses(device.path, policy))
            used, standing = self._used[key], self.standings.get(key)
            try:
                marked, is_all = uses.take()
            except OSError as err:
                self._logger.debug('Unable to tell what %s needs: %s',
                                   device, err)
                marked, is_all = frozenset(), True
            used.update(dict.fromkeys(marked, now))
            for peer, marked_at in list(used.items()):
                if now - marked_at > KEPT * self._seconds * NS:
                    del used[peer]
            if is_all or standing is None or self._may_have_changed(
                    device, standing, now):
                return None
            found[device.node['id']] = standing.open_peers() | used.keys()
        return found

    def _may_have_changed(self, device, standing, now):
        """Return whether all have to be asked again."""
        ring = device.policy.object_ring
        every = max(ALL_EVERY * self._seconds,
                    len(nodes_of(ring)) / NODES_PER_SECOND)
        return standing.ring != version_of(ring, device.policy) \
            or now - standing.round > every * NS \
            or self._file(device.path, device.policy).last_missed() \
            >= standing.round

    def _ask_for(self, policy, devices, wanted):
        """Ask for devices of a policy.

        :param wanted: id of each of them -> the ids of the peers to ask;
            None: all
        """
        began = now_ns()
        version = version_of(policy.object_ring, policy)
        askers = {device.node['id'] for device in devices}
        told: dict[int, dict[int, Told]] = {
            asker: {} for asker in askers}
        logs = self._positions(devices) if wanted is None else {}
        asks = []
        for address, peers in nodes_of(policy.object_ring).items():
            needing, needed = of_node(askers, peers, wanted)
            if needed:
                asks.append((address, Ask(
                    int(policy), version, self._seconds, needing, needed,
                    logs)))
        pool = GreenPool(CONCURRENCY)
        for ask, answer in pool.starmap(
                lambda address, ask: (ask, put_question(
                    address, ask, self._seconds * PATIENCE, self._logger)),
                asks):
            for peer in ask.peers if answer else ():
                for asker in ask.askers:
                    told[asker][peer] = told_by(began, answer, peer, asker)
        for device in devices:
            if wanted is None or told[device.node['id']]:
                self._note(device, policy, version, began,
                           told[device.node['id']], wanted is None)

    def _positions(self, devices):
        """Return how far the logs of some devices are, by their ids."""
        found = {}
        for device in devices:
            try:
                position = tpool.execute(log_position, device.path)
            except OSError as err:
                self._logger.debug('Unable to tell how far the log of %s is: '
                                   '%s', device, err)
                continue
            if position:
                found[device.node['id']] = position
        return found

    def _note(self, device, policy, version, began, told, is_of_all):
        number = device.node['id']
        told.pop(number, None)
        standing = self.standings.get((int(policy), number))
        if standing is None or standing.ring != version:
            standing = Standing(boot_id(), number, version, self._seconds)
        standing = tpool.execute(
            self._file(device.path, policy).filled_after,
            standing.after(began, told, is_of_all), began, told)
        self.standings[int(policy), number] = standing
        self._write(device, standing)
