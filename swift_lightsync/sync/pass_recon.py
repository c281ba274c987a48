# SPDX-License-Identifier: Apache-2.0
"""
What a replication pass tells of itself: the file ``lightsync.recon``.

The replicator, or each of its workers, writes down how far the devices here
agree with their neighbours. RECON.md has the format, and what each field
means. The file is only for looking at: nothing is decided by it.
"""

import os
import time
from collections import defaultdict
from dataclasses import replace

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import dump_recon_cache

from swift_lightsync.common.recon_record import ReconError
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.neighbours import device_key
from swift_lightsync.sync.recon_records import (
    FILE,
    VERSION,
    PairRecord,
    PassRecord,
    read,
)

#: Seconds between two writes in the course of a pass.
DUMP_INTERVAL = 10
#: Seconds after which a pair that is no longer checked is dropped.
KEEP = 86400


class _Comparison:
    """What a pass has found of a pair so far."""

    def __init__(self, before):
        self.record = before
        self.agreed_before = before.agreed
        self.asked = set()
        self.differed = set()
        #: Those that the neighbour is not known to hold as we do.
        self.unsettled = set()

    def add(self, asked, answer, differing, now):
        left = {Answer.MATCH: (), Answer.DIFFER: differing}.get(answer, asked)
        self.asked.update(asked)
        for each, found in ((self.differed, differing),
                            (self.unsettled, left)):
            each.difference_update(asked)
            each.update(found)
        if answer is Answer.MATCH and self.differed:
            answer = Answer.DIFFER
        self.record = replace(self.record, checked=now, answer=answer,
                              partitions=len(self.asked),
                              differed=len(self.differed))
        self._note_agreement()

    def settle(self, partition):
        self.unsettled.discard(partition)
        self._note_agreement()

    def _note_agreement(self):
        self.record = replace(
            self.record, differing=len(self.differed & self.unsettled),
            # By what the pass has asked until now: not for good yet.
            agreed=(self.agreed_before if self.unsettled
                    else self.record.checked))


class PassRecorder:
    """
    Writes ``lightsync.recon`` as the passes of a replicator go on.

    :param conf: a dict: ``recon_cache_path`` is the directory of the file
    :param daemon: the :class:`LightSyncReplicator`
    """

    def __init__(self, conf, daemon):
        self.path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), FILE)
        self.daemon = daemon
        self.logger = daemon.logger
        self._dumped = float('-inf')
        self._forget_pass()

    def _forget_pass(self):
        #: Names of the devices of the pass; None while none is recorded.
        self._devices = None
        self._before = {}
        self._comparisons = {}
        self._changed = set()
        self._exchanges = defaultdict(int)
        self._full_exchanges = defaultdict(int)

    def begin_pass(self, devices, partial):
        """
        :param devices: names of the local devices that the pass goes over;
            None: all of them
        :param partial: whether it leaves out some of their partitions, so
            that it tells nothing of the pairs; it is not recorded
        """
        self._forget_pass()
        if partial:
            return
        self._devices = devices or self.daemon.get_local_devices()
        self._before, _ = self._read()

    def _read(self):
        try:
            return read(self.path)
        except ReconError as err:
            self.logger.warning('Making a new recon file: %s', err)
        except OSError as err:
            self.logger.warning('Unable to read the recon file: %s', err)
            return {}, {}
        try:
            os.unlink(self.path)
        except OSError as err:
            self.logger.warning('Unable to remove the recon file: %s', err)
        return {}, {}

    def note_answer(self, policy, device, node, partitions, found):
        """
        Note what came of a sync message.

        :param policy: the StoragePolicy
        :param device: name of the local device
        :param node: the neighbour, a dict as in the ring
        :param partitions: an iterable of the partitions it was about
        :param found: a tuple of the Answer and the partitions that differ
        """
        own = self.daemon.neighbours.own_endpoint(policy, device)
        if self._devices is None or own is None:
            return
        now = time.time()
        key = int(policy), device, device_key(node)
        if key not in self._comparisons:
            record = PairRecord(int(policy), own + (device,), key[2], now,
                                now, None, 0, 0, 0, found[0])
            self._comparisons[key] = _Comparison(
                self._before.get(record.name, record))
        self._comparisons[key].add(set(partitions), *found, now)
        self._note_change(key)

    def note_exchange(self, job, nodes, done):
        """
        Note an exchange.

        :param job: of the partition, a dict as from ``collect_jobs``
        :param nodes: the devices it was with
        :param done: whether it went well with all of them
        """
        self._exchanges[job['device']] += 1
        for node in nodes if done else ():
            key = int(job['policy']), job['device'], device_key(node)
            if key in self._comparisons:
                self._comparisons[key].settle(int(job['partition']))
                self._note_change(key)

    def note_full_exchange(self, job):
        """Note that a job's partition is exchanged with all its replicas."""
        self._full_exchanges[job['device']] += 1

    def _note_change(self, key):
        self._changed.add(key)
        if time.monotonic() - self._dumped >= DUMP_INTERVAL:
            self._dump({}, {})

    def end_pass(self, begin):
        """
        Note that the pass is over, and drop what is out of date.

        :param begin: when it began, Unix time
        """
        if self._devices is None:
            return
        now = time.time()
        pairs, devices = self._out_of_date(now)
        self._changed.update(self._comparisons)
        devices.update(self._passes(begin, now))
        self._dump(pairs, devices)
        self._forget_pass()

    def _passes(self, begin, now):
        checked = defaultdict(set)
        for (policy, device, _), each in self._comparisons.items():
            checked[device].update((policy, partition)
                                   for partition in each.asked)
        for device in self._devices:
            own = next(filter(None, (
                self.daemon.neighbours.own_endpoint(policy, device)
                for policy in self.daemon.policies)), None)
            if own:
                record = PassRecord(
                    own + (device,), now, max(0, now - begin),
                    len(checked[device]), self._exchanges[device],
                    self._full_exchanges[device])
                yield record.name, record.to_fields()

    def _out_of_date(self, now):
        """:returns: as for ``_dump``, what deletes it"""
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

    def _dump(self, pairs, devices):
        """Write entries, and the pairs that have changed; {} deletes one."""
        self._dumped = time.monotonic()
        for key in self._changed:
            record = self._comparisons[key].record
            pairs[record.name] = record.to_fields()
        self._changed.clear()
        # To leave out a dict is to leave its entries as they are.
        dump_recon_cache({'version': VERSION, **{
            key: entries for key, entries in (
                ('pairs', pairs), ('devices', devices)) if entries}},
            self.path, self.logger)
