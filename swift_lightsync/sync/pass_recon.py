# SPDX-License-Identifier: Apache-2.0
"""Records replication passes in the file ``lightsync.recon``.

The replicator, or each of its workers, writes down how far the devices here
agree with their neighbours. RECON.md has the format, and what each field
means. The file is only for operators: nothing is decided by it.
"""

import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import dump_recon_cache

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.common.records import RecordError
from swift_lightsync.sync.core.conversation import Told
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import Job, device_key
from swift_lightsync.sync.recon_records import (
    FILE,
    VERSION,
    PairRecord,
    PassRecord,
    read,
)

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Seconds between two writes in the course of a pass.
DUMP_INTERVAL = 10
#: Seconds after which a pair that is no longer checked is dropped.
KEEP = 86400


#: Policy index, name of the local device, neighbour.
_PairKey = tuple[int, str, DeviceTuple]
#: Records as dump_recon_cache merges them, by name; {} deletes one.
_Entries = dict[str, dict[str, Any]]


class _Comparison:
    """What a pass has found about a pair of devices so far."""

    def __init__(self, before: PairRecord) -> None:
        self.record = before
        self.agreed_before = before.agreed
        #: Numbers of partitions.
        self.asked: set[int] = set()
        self.differed: set[int] = set()
        #: Partitions that the neighbour is not known to hold as we do.
        self.unsettled: set[int] = set()
        self._settled = 0

    def add(self, asked: Collection[int], told: Told, now: float) -> None:
        answer, left = told.answer, asked
        if answer in (Answer.MATCH, Answer.DIFFER):
            left = told.differing | told.unread
        self.asked.update(asked)
        for each, found in ((self.differed, told.differing),
                            (self.unsettled, left)):
            each.difference_update(asked)
            each.update(found)
        if answer is Answer.MATCH and self.differed:
            answer = Answer.DIFFER
        self.record = replace(self.record, checked=now, answer=answer,
                              partitions=len(self.asked) + self._settled,
                              differed=len(self.differed))
        self._note_agreement()

    def settle_more(self, count: int) -> None:
        """Add partitions that are equal, and not told apart."""
        self.record = replace(self.record,
                              partitions=self.record.partitions + count)
        self._settled += count

    def settle(self, partition: int) -> None:
        self.unsettled.discard(partition)
        self._note_agreement()

    def _note_agreement(self) -> None:
        self.record = replace(
            self.record, differing=len(self.differed & self.unsettled),
            # Judged by the partitions asked about so far in this pass.
            agreed=(self.agreed_before if self.unsettled
                    else self.record.checked))


class PassRecorder:
    """Writes ``lightsync.recon`` as the passes of a replicator go on.

    :param conf: a section: ``recon_cache_path`` is the directory of the file
    :param daemon: the replicator
    """

    def __init__(self, conf: Mapping[str, Any],
                 daemon: 'LightSyncReplicator') -> None:
        self.path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), FILE)
        self.daemon = daemon
        self.logger = daemon.logger
        self._dumped = float('-inf')
        self._forget_pass()

    def _forget_pass(self) -> None:
        #: Names of the devices of the pass; None while none is recorded.
        self._devices: Collection[str] | None = None
        #: The records of pairs as the pass found them in the file, by name.
        self._before: dict[str, PairRecord] = {}
        self._comparisons: dict[_PairKey, _Comparison] = {}
        #: The comparisons that were not written since they changed.
        self._changed: set[_PairKey] = set()
        #: By the name of the local device.
        self._exchanges: dict[str, int] = defaultdict(int)
        self._full_exchanges: dict[str, int] = defaultdict(int)
        self._settled: dict[str, int] = defaultdict(int)

    def begin_pass(self, devices: Collection[str] | None,
                   partial: bool) -> None:
        """Begin to record a pass, unless it is a partial one.

        :param devices: names of the local devices that the pass goes over;
            None: all of them
        :param partial: whether it leaves out some of their partitions: then
            it says nothing about the pairs, and is not recorded
        """
        self._forget_pass()
        if partial:
            return
        self._devices = devices or self.daemon.get_local_devices()
        self._before, _ = self._read()

    def _read(self) -> tuple[dict[str, PairRecord], dict[str, PassRecord]]:
        try:
            return read(self.path)
        except RecordError as err:
            self.logger.warning('Making a new recon file: %s', err)
        except OSError as err:
            self.logger.warning('Unable to read the recon file: %s', err)
            return {}, {}
        try:
            os.unlink(self.path)
        except OSError as err:
            self.logger.warning('Unable to remove the recon file: %s', err)
        return {}, {}

    def note_answer(self, policy: StoragePolicy, device: str,
                    node: RingDevice, partitions: Iterable[int],
                    told: Told) -> None:
        """Note the outcome of a sync message.

        :param policy: the StoragePolicy
        :param device: name of the local device
        :param node: the neighbour
        :param partitions: the partitions it was about
        :param told: what the neighbour said
        """
        own = self.daemon.neighbours.local.endpoint(policy, device)
        if self._devices is None or own is None:
            return
        now = time.time()
        key = int(policy), device, device_key(node)
        if key not in self._comparisons:
            record = PairRecord(int(policy), own + (device,), key[2], now,
                                now, None, 0, 0, 0, told.answer)
            self._comparisons[key] = _Comparison(
                self._before.get(record.name, record))
        self._comparisons[key].add(set(partitions), told, now)
        self._note_change(key)

    def note_settled(self, policy: StoragePolicy, device: str,
                     node: RingDevice, count: int) -> None:
        """Note that partitions are equal, which need not be told apart.

        :param policy: the StoragePolicy
        :param device: name of the local device
        :param node: the neighbour
        :param count: how many partitions
        """
        self.note_answer(policy, device, node, (), Told(Answer.MATCH))
        key = int(policy), device, device_key(node)
        if key in self._comparisons:
            self._comparisons[key].settle_more(count)
            self._settled[device] += count

    def note_exchange(self, job: Job, nodes: Iterable[RingDevice],
                      done: bool) -> None:
        """Note an exchange.

        :param job: the job of the partition
        :param nodes: the devices it was with
        :param done: whether it went well with all of them
        """
        self._exchanges[job['device']] += 1
        for node in nodes if done else ():
            key = int(job['policy']), job['device'], device_key(node)
            if key in self._comparisons:
                self._comparisons[key].settle(int(job['partition']))
                self._note_change(key)

    def note_full_exchange(self, job: Job) -> None:
        """Note that a partition was exchanged with all its replicas."""
        self._full_exchanges[job['device']] += 1

    def note_hand_offs(self) -> None:
        """Record how many hand-offs are left, in the course of a pass."""
        if time.monotonic() - self._dumped >= DUMP_INTERVAL:
            hand_offs, found = self.daemon.hand_offs, self._read()[1]
            self._dump({}, {name: replace(
                each, hand_offs=hand_offs.left[each.device[2]],
                hand_offs_seconds=hand_offs.seconds_left()).to_json()
                for name, each in found.items()
                if each.device[2] in hand_offs.left})

    def _note_change(self, key: _PairKey) -> None:
        self._changed.add(key)
        if time.monotonic() - self._dumped >= DUMP_INTERVAL:
            self._dump({}, {})

    def end_pass(self, begin: float, messages: int = 0) -> None:
        """Record that the pass is over, and drop what is out of date.

        :param begin: when it began, Unix time
        :param messages: how many LIGHTSYNC requests it took
        """
        if self._devices is None:
            return
        now = time.time()
        pairs, devices = self._out_of_date(now)
        self._changed.update(self._comparisons)
        devices.update(self._passes(self._devices, begin, now, messages))
        self._dump(pairs, devices)
        self._forget_pass()

    def _passes(self, devices: Collection[str], begin: float, now: float,
                messages: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name and the fields of each device's record."""
        checked: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for (policy, device, _), each in self._comparisons.items():
            checked[device].update((policy, partition)
                                   for partition in each.asked)
        # What all devices have in common is told by one of them.
        common = dict(asdict(self.daemon.neighbours.tally), messages=messages)
        for device in sorted(devices):
            own = next(filter(None, (
                self.daemon.neighbours.local.endpoint(policy, device)
                for policy in self.daemon.policies)), None)
            if own:
                record = PassRecord(
                    own + (device,), now, max(0, now - begin),
                    len(checked[device]) + self._settled[device],
                    self._exchanges[device],
                    self._full_exchanges[device],
                    self.daemon.hand_offs.left[device],
                    self.daemon.hand_offs.seconds_left(), **common,
                    scrub_seconds=self.daemon.full_exchanges.age(device, now))
                common = {}
                yield record.name, record.to_json()

    def _out_of_date(self, now: float) -> tuple[_Entries, _Entries]:
        """Return what deletes old pairs and devices, as for ``_dump``."""
        rings = {int(policy): {device_key(dev) for dev
                               in policy.object_ring.devs if dev}
                 for policy in self.daemon.policies}
        pairs, devices = self._read()
        return ({name: {} for name, pair in pairs.items()
                 if abs(now - pair.checked) > KEEP
                 or not {pair.device, pair.neighbour} <= rings.get(
                     pair.policy, set())},
                {name: {} for name, each in devices.items()
                 if not any(each.device in ring
                            for ring in rings.values())})

    def _dump(self, pairs: _Entries, devices: _Entries) -> None:
        """Write entries, and the pairs that have changed."""
        self._dumped = time.monotonic()
        for key in self._changed:
            record = self._comparisons[key].record
            pairs[record.name] = record.to_json()
        self._changed.clear()
        # To leave out a dict is to leave its entries as they are.
        dump_recon_cache({'version': VERSION, **{
            key: entries for key, entries in (
                ('pairs', pairs), ('devices', devices)) if entries}},
            self.path, self.logger)
