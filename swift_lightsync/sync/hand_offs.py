# SPDX-License-Identifier: Apache-2.0
"""The partitions here that belong to other devices.

Stock Swift pushes each of them to each device by itself, and removes it once
enough of them have it. Here many are asked about and pushed together before;
stock's :meth:`revert` then finds that there is nothing left to push.
PROTOCOL.md, "Hand-offs".
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from logging import Logger
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import Semaphore, Timeout, tpool

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core.engine.hand_offs import HandOff, bringing_home
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.driving import log_trouble
from swift_lightsync.sync.keys import Job, JobKey, device_key, job_key
from swift_lightsync.sync.pushing import PushingReplicator
from swift_lightsync.sync.sync_batch import SyncBatch

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Partitions that are asked about and pushed before the first one is removed.
CHUNK = 1024


class HandOffRound(HandOff):
    """One hand-off partition's part in a replication pass.

    :param daemon: the replicator
    :param job: the job of the partition
    :param fingerprint: the partition's fingerprint
    """

    __slots__ = ('job', 'recon')

    def __init__(self, daemon: 'LightSyncReplicator', job: Job,
                 fingerprint: Fingerprint) -> None:
        self.job, self.recon = job, daemon.recon
        super().__init__(daemon, job['policy'], job['device'], job['region'],
                         int(job['partition']), fingerprint.root,
                         fingerprint.suffixes)
        self.bring_home(job['nodes'])

    def note_exchanged(self) -> None:
        """Record the devices with which the Exchange was done."""
        self.recon.note_exchange(self.job, self._done, True)


class _Batch(SyncBatch):
    """Brings hand-offs home together."""

    make = HandOffRound
    playing = staticmethod(bringing_home)
    anew = True


class HandOffs:
    """The hand-offs of a pass.

    :param daemon: the replicator
    """

    def __init__(self, daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self._turn = Semaphore(1)
        self.begin(())

    def begin(self, jobs: Iterable[Job]) -> None:
        """Begin a pass.

        :param jobs: its jobs of hand-offs, in the order of their turns
        """
        self._begun = time.time()
        self._waiting = {job_key(job): job for job in jobs}
        self._total = len(self._waiting)
        #: Of each that was brought home: its root, and where it is.
        self._held: dict[JobKey, tuple[str, frozenset[DeviceTuple]]] = {}
        #: Those that are not removed yet, by device.
        self.left = Counter(key[0] for key in self._waiting)

    def prepare(self, job: Job) -> None:
        """See that the devices have what a hand-off, and others, hold.

        :param job: the job of the hand-off
        """
        with self._turn:
            if self._waiting.pop(job_key(job), None) is None \
                    or self.daemon.sync_batch_partitions < 2:
                return
            chunk = [job, *islice(self._waiting.values(), CHUNK - 1)]
            for each in chunk[1:]:
                del self._waiting[job_key(each)]
            try:
                self._bring_home(chunk)
            except (Exception, Timeout) as err:
                log_trouble(
                    self.daemon.logger, err, 'Error in bringing %d hand-offs '
                    'home together; they are pushed one by one', len(chunk))

    def _bring_home(self, jobs: Sequence[Job]) -> None:
        begin = time.time()
        rounds = _Batch(self.daemon, jobs, counted=False).play()
        for (_, device), of_device in rounds.items():
            for each in filter(None, of_device.values()):
                if each.held:
                    self._held[job_key(each.job)] = each.root, each.held
        if self._waiting:
            self.daemon.logger.info(
                'Of %d hand-offs %d are to be brought home yet; %d took %.3f '
                's, and all of them will take %d s more', self._total,
                len(self._waiting), len(jobs), time.time() - begin,
                self.seconds_left())
        self.daemon.recon.note_hand_offs()

    def seconds_left(self) -> float:
        """Estimate how long it takes to bring all others home."""
        done = self._total - len(self._waiting)
        return (time.time() - self._begun) / max(done, 1) * len(self._waiting)

    def is_held(self, node: RingDevice, job: Job) -> bool:
        """Return whether a device holds all that a hand-off still has.

        :param node: the device
        :param job: the job of the hand-off
        """
        if not self._held or not job['delete']:
            return False
        root, held = self._held.get(job_key(job), ('', frozenset()))
        daemon = self.daemon
        if device_key(node) not in held or (
                # Swift wants to be told of each object in another region.
                daemon.sync_method != daemon.rsync
                and node['region'] != job['region']):
            return False
        found: Fingerprint | None = tpool.execute(
            daemon.fingerprints(job['policy']).get_many, job['device'],
            [job['partition']])[1].get(job['partition'])
        return found is not None and found.root == root

    def end(self, job: Job) -> None:
        """Note that a hand-off has had its turn."""
        self._held.pop(job_key(job), None)
        if not os.path.exists(job['path']):
            self.left[job['device']] -= 1


class HandOffReplicator(PushingReplicator):
    """Reverts as Swift does, but many hand-offs together.

    :param conf: the ``[object-replicator]`` section
    :param logger: a logger, or None for one made from conf
    """

    def __init__(self, conf: Mapping[str, Any],
                 logger: Logger | None = None) -> None:
        super().__init__(conf, logger=logger)
        self.hand_offs = HandOffs(self)

    def revert(self, job: Job) -> None:
        """Replicate a partition that does not belong here."""
        self.hand_offs.prepare(job)
        super().revert(job)
        self.hand_offs.end(job)

    def sync(self, node: RingDevice, job: Job, suffixes: Sequence[str],
             *args: Any, **kwargs: Any) -> tuple[bool, dict[str, Any]]:
        """Push suffixes, unless it is known that the device has them."""
        if self.hand_offs.is_held(node, job):
            return True, {}
        done: tuple[bool, dict[str, Any]] = super().sync(
            node, job, suffixes, *args, **kwargs)
        return done
