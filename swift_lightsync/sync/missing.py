# SPDX-License-Identifier: Apache-2.0
"""Finds out which of our objects a neighbour lacks: both sides of ``missing``.

LightSync §5.4.3: a node that comes back pushes nothing that is obsolete.
:class:`Offers` is the side of the replicator, :func:`look_up` that of the
object-server. PROTOCOL.md, "An exchange".
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from logging import Logger
from typing import Any
from urllib.parse import quote

from swift.common.concurrency import Timeout, tpool
from swift.common.storage_policy import StoragePolicy
from swift.common.swob import Request
from swift.obj import ssync_receiver

from swift_lightsync.sync.fingerprints import PORTION, in_portions
from swift_lightsync.sync.keys import Job
from swift_lightsync.sync.missing_message import (
    MAX_OBJECTS,
    Offered,
    Wanted,
    line_of,
)
from swift_lightsync.sync.names import POLICY_HEADER
from swift_lightsync.sync.wire.sync_message import SyncMessageError

#: An object to offer: its partition, its path relative to the objects
#: directory, and the line that offers it.
_Object = tuple[int, str, bytes]


class Offers:
    """Offers the objects in some suffixes to a neighbour, message by message.

    :param df_mgr: the diskfile manager of their policy
    :param policy: the StoragePolicy
    :param job: any of the partitions' jobs, for what all of them share
    :param suffixes: the suffixes of each partition
    :param logger: where partitions that cannot be read are logged
    """

    def __init__(self, df_mgr: Any, policy: StoragePolicy, job: Job,
                 suffixes: Mapping[int, Iterable[str]],
                 logger: Logger) -> None:
        self.df_mgr = df_mgr
        self.policy = policy
        self.device: str = job['device']
        self.objects_path: str = job['obj_path']
        self.logger = logger
        #: The paths to push, relative to the objects directory, by partition.
        self.wanted: dict[int, list[str]] = {
            partition: [] for partition in suffixes}
        self._source = self._objects(suffixes)

    def find(self, ask: Callable[[dict[int, list[bytes]]], Wanted]
             ) -> dict[int, list[str]]:
        """Offer everything, and return what the neighbour lacks.

        :param ask: sends the neighbour an offer, lines by partition, and
            returns its answer
        :returns: the paths that the neighbour lacks, relative to the objects
            directory, by partition; a partition that could not be read here
            or there is left out
        :raises SyncMessageError: if the neighbour looks at nothing
        """
        waiting: list[_Object] = []
        while True:
            while len(waiting) <= MAX_OBJECTS - PORTION:
                more = tpool.execute(self._take)
                if not more:
                    break
                waiting += more
            if not waiting:
                return self.wanted
            waiting = self._offer(ask, waiting)

    def _take(self) -> list[_Object]:
        return list(islice(self._source, PORTION))

    def _offer(self, ask: Callable[[dict[int, list[bytes]]], Wanted],
               objects: Sequence[_Object]) -> list[_Object]:
        """Offer objects, and return those that were not looked at yet."""
        groups: dict[int, list[_Object]] = {}
        for each in objects:
            groups.setdefault(each[0], []).append(each)
        answer = ask({partition: [line for _, _, line in group]
                      for partition, group in groups.items()})
        if answer and not any(looked for looked, _ in answer.values()):
            raise SyncMessageError('none of %d objects was looked at'
                                   % len(objects))
        left: list[_Object] = []
        for partition, group in groups.items():
            if partition not in self.wanted:
                continue
            if partition not in answer:
                del self.wanted[partition]
                continue
            looked, indices = answer[partition]
            self.wanted[partition] += [group[index][1] for index in indices]
            left += group[looked:]
        return left

    def _objects(self, suffixes: Mapping[int, Iterable[str]]
                 ) -> Iterator[_Object]:
        """Yield the objects to offer."""
        for partition, of_partition in suffixes.items():
            try:
                for suffix in of_partition:
                    yield from self._in_suffix(partition, suffix)
                    if partition not in self.wanted:
                        break
            except (Exception, Timeout) as err:
                # On a bad sector, or gone: the others are not concerned.
                self.logger.error(
                    'Unable to list partition %s on %s: %s: %s', partition,
                    self.device, type(err).__name__, err)
                self.wanted.pop(partition, None)

    def _in_suffix(self, partition: int, suffix: str) -> Iterator[_Object]:
        path = os.path.join(str(partition), suffix)
        offered = set()
        for object_hash, timestamps in self.df_mgr.yield_hashes(
                self.device, partition, self.policy, suffixes=[suffix]):
            line = line_of(object_hash, timestamps, self._is_deleted(
                os.path.join(path, object_hash), timestamps))
            if line:
                offered.add(object_hash)
                yield partition, os.path.join(path, object_hash), line
        try:
            names = os.listdir(os.path.join(self.objects_path, path))
        except FileNotFoundError:
            return
        # Files that belong to no object can make suffixes differ, too.
        if partition in self.wanted:
            self.wanted[partition] += [os.path.join(path, name)
                                       for name in names
                                       if name not in offered]

    def _is_deleted(self, path: str, timestamps: Mapping[str, Any]) -> bool:
        return os.path.exists(os.path.join(
            self.objects_path, path, timestamps['ts_data'].internal + '.ts'))


def look_up(app: Any, device: str, policy: StoragePolicy,
            offer: Mapping[int, Sequence[Offered]],
            patience: float) -> Wanted:
    """Find out which of the objects that a peer offers are wanted here.

    :param app: the object-server's controller
    :param device: name of the local device
    :param policy: the StoragePolicy
    :param offer: the objects by partition
    :param patience: seconds after which to look at nothing more; the first
        portion is always looked at
    :returns: the answer to the offer; a partition that cannot be read is left
        out
    :raises HTTPInsufficientStorage: if the device is not mounted
    """
    deadline = time.monotonic() + patience
    begun = False
    answer: Wanted = {}
    for partition, objects in offer.items():
        receiver = ssync_receiver.Receiver(app, Request.blank(
            '/%s/%d' % (quote(device), partition),
            headers={POLICY_HEADER: int(policy)}))
        looked = 0
        wanted: list[int] = []
        try:
            for portion in in_portions(objects):
                if begun and time.monotonic() > deadline:
                    break
                begun = True
                wanted += [looked + index for index in tpool.execute(
                    _wanted, receiver, portion)]
                looked += len(portion)
        except (Exception, Timeout) as err:
            app.logger.error(
                'Unable to look up objects of partition %s on %s: %s: %s',
                partition, device, type(err).__name__, err)
            continue
        answer[partition] = looked, wanted
    return answer


def wanted_suffixes(offer: Mapping[int, Sequence[Offered]],
                    answer: Wanted) -> dict[int, list[str]]:
    """Return the suffixes of the objects that are wanted.

    :param offer: the objects by partition
    :param answer: the answer to the offer
    """
    return {partition: sorted({offer[partition][index]['object_hash'][-3:]
                               for index in indices})
            for partition, (_, indices) in answer.items() if indices}


def _wanted(receiver: ssync_receiver.Receiver,
            objects: Iterable[Offered]) -> list[int]:
    return [index for index, remote in enumerate(objects)
            if _is_wanted(remote, receiver._check_local(remote))]


def _is_wanted(remote: Offered, local: Mapping[str, Any]) -> bool:
    if ssync_receiver.encode_wanted(remote, local):
        return True
    # Of data and a tombstone with one timestamp, a diskfile keeps the
    # tombstone. An object that is deleted here has no ts_meta.
    return bool(remote['deleted'] and 'ts_meta' in local
            and remote['ts_data'] == local['ts_data'])
