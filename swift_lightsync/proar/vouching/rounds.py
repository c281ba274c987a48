# SPDX-License-Identifier: Apache-2.0
"""
The rounds of questions that a converger asks for the devices of its node.

PROTOCOL.md, "Vouching".
"""

import time
from collections import defaultdict
from typing import Any, Callable, Dict, NamedTuple, Tuple

from swift.common.bufferedhttp import http_connect_raw
from swift.common.concurrency import GreenPool, Timeout, sleep, spawn, tpool
from swift.common.http import HTTP_OK

from swift_lightsync.proar.core.standing import Standing, Told
from swift_lightsync.proar.names import ASK_PATH
from swift_lightsync.proar.vouching.clock import boot_id, now_ns
from swift_lightsync.proar.vouching.places import version_of
from swift_lightsync.proar.vouching.report import DeviceStanding, Recorded
from swift_lightsync.proar.vouching.standings import Standings
from swift_lightsync.proar.wire.messages import MAX_BYTES, Answer, Ask

#: Nodes that are asked at the same time.
CONCURRENCY = 200
#: of vouch_seconds: from one round to the next, and what an answer may take
PERIOD = 1 / 3
PATIENCE = 1 / 4


class Asker(NamedTuple):
    """
    A device for which is asked, in one policy.

    :param node: the device, a dict of the policy's ring
    :param policy: a StoragePolicy
    :param path: of the device
    :param is_mounted: tells whether it can be used
    """
    node: Dict[str, Any]
    policy: Any
    path: str
    is_mounted: Callable[[], bool] = lambda: True


class Rounds:
    """
    Asks for the devices of a node, as long as it runs.

    :param devices: a function that returns the node's Askers
    :param seconds: how long an answer counts
    :param logger: Swift's
    """

    def __init__(self, devices, seconds, logger):
        self._devices = devices
        self._seconds = seconds
        self._logger = logger
        #: (policy index, device id) -> its Standing
        self.standings: Dict[Tuple[int, int], Standing] = {}
        #: the same -> since when a device has not vouched for it, Unix time
        self._silent_since: Dict[Tuple[int, int], float] = {}

    def start(self):
        """Ask from now on."""
        spawn(self._run)

    def report(self, now):
        """
        Return how the devices stand, as objects of JSON by their names.

        :param now: Unix time
        """
        found = defaultdict(list)
        for device in self._devices():
            if (int(device.policy), device.node['id']) in self.standings:
                found[device.node['device']].append(
                    self._report_of(device, now))
        return {name: Recorded(now, tuple(each)).to_json()
                for name, each in found.items()}

    def _report_of(self, device, now):
        key = int(device.policy), device.node['id']
        standing = self.standings[key]
        peers = {node['id'] for node in device.policy.object_ring.devs
                 if node and node['weight']} - {device.node['id']}
        silent = tuple(sorted(standing.silent(now_ns(), peers)))
        if silent:
            self._silent_since.setdefault(key, now)
        else:
            self._silent_since.pop(key, None)
        return DeviceStanding(
            device.node['device'], int(device.policy), standing.ring, silent,
            self._silent_since.get(key),
            len({place for told in standing.told.values()
                 for place in told.held}), standing.others(now_ns()))

    def rings_agree(self, policy, device):
        """Return whether nobody is known to have another ring."""
        standing = self.standings.get((int(policy), device))
        return standing is None or not standing.others(now_ns())

    def _run(self):
        while True:
            began = time.monotonic()
            try:
                self.ask_all()
            except (Exception, Timeout):
                # Nothing is lost: who is not vouched has others asked.
                self._logger.exception('Unable to ask for vouches')
            sleep(max(0.0, began + self._seconds * PERIOD
                      - time.monotonic()))

    def ask_all(self):
        """Ask one round of questions for all devices."""
        of_policy = defaultdict(list)
        for device in self._devices():
            if device.is_mounted():
                of_policy[device.policy].append(device)
        present = {(int(policy), device.node['id'])
                   for policy, devices in of_policy.items()
                   for device in devices}
        self.standings = {key: standing for key, standing
                          in self.standings.items() if key in present}
        pool = GreenPool(CONCURRENCY)
        for policy, devices in of_policy.items():
            pool.spawn_n(self._ask_for, policy, devices)
        pool.waitall()

    def _ask_for(self, policy, devices):
        began = now_ns()
        ring = policy.object_ring
        version = version_of(ring, policy)
        nodes: Dict[Tuple[str, int], Dict[int, str]] = defaultdict(dict)
        for node in ring.devs:
            if node:
                nodes[node['replication_ip'], node['replication_port']][
                    node['id']] = node['device']
        askers = tuple(device.node['id'] for device in devices)
        pool = GreenPool(CONCURRENCY)
        answers = pool.imap(lambda item: (item[1], self._ask(item[0], Ask(
            int(policy), version, self._seconds, askers, item[1]))),
            nodes.items())
        told: Dict[int, Dict[int, Told]] = {
            asker: {} for asker in askers}
        for peers, answer in answers:
            for peer in peers if answer else ():
                for asker in askers:
                    told[asker][peer] = _told(began, answer, peer, asker)
        for device in devices:
            self._note(device, policy, version, began,
                       told[device.node['id']])

    def _ask(self, address, ask):
        """Ask one node, and return its Answer; None if it gives none."""
        body = ask.encode()
        try:
            with Timeout(self._seconds * PATIENCE):
                connection = http_connect_raw(
                    *address, 'PROAR', '/' + ASK_PATH,
                    {'Content-Length': str(len(body))})
                try:
                    connection.send(body)
                    response = connection.getresponse()
                    content = response.read(MAX_BYTES)
                finally:
                    connection.close()
            if response.status != HTTP_OK:
                raise ValueError('it answers %d' % response.status)
            return Answer.parse(content, MAX_BYTES)
        except (Exception, Timeout) as err:
            # Its devices do not vouch; recon tells so.
            self._logger.debug('%s:%d does not vouch: %s', *address, err)
            return None

    def _note(self, device, policy, version, began, told):
        number = device.node['id']
        told.pop(number, None)
        standing = self.standings.get((int(policy), number))
        if standing is None or standing.ring != version:
            standing = Standing(boot_id(), number, version, self._seconds)
        standing = standing.after(began, told)
        self.standings[int(policy), number] = standing
        try:
            tpool.execute(Standings(device.path, policy).write, standing)
        except OSError as err:
            self._logger.debug('Unable to note how %s stands: %s', device,
                               err)


def _told(began, answer, peer, asker):
    can_tell = peer in answer.peers
    return Told(began, answer.ring, can_tell,
                answer.peers[peer].get(asker, ()) if can_tell else ())
