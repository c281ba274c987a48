# SPDX-License-Identifier: Apache-2.0
"""
Which of our objects a neighbour lacks: asked by one, looked up by the other.

LightSync §5.4.3: a node that comes back pushes nothing that is obsolete.
PROTOCOL.md, "An exchange".
"""

import os
import time
from itertools import islice
from urllib.parse import quote

from swift.common.concurrency import Timeout, tpool
from swift.common.swob import Request
from swift.obj import ssync_receiver

from swift_lightsync.sync.fingerprints import PORTION, in_portions
from swift_lightsync.sync.missing_message import MAX_OBJECTS, line_of
from swift_lightsync.sync.names import POLICY_HEADER
from swift_lightsync.sync.wire.sync_message import SyncMessageError


class Offers:
    """
    The objects in some suffixes, offered to a neighbour bit by bit.

    :param df_mgr: the diskfile manager of their policy
    :param policy: the StoragePolicy
    :param job: any of the jobs of the partitions, for what these share
    :param suffixes: a dict, partition number to a list of suffixes
    :param logger: a logger
    """

    def __init__(self, df_mgr, policy, job, suffixes, logger):
        self.df_mgr = df_mgr
        self.policy = policy
        self.device = job['device']
        self.objects_path = job['obj_path']
        self.logger = logger
        #: Partition -> paths to push, relative to the objects directory.
        self.wanted = {partition: [] for partition in suffixes}
        self._source = self._objects(suffixes)

    def find(self, ask):
        """
        :param ask: a function of a dict, partition number to lines, that
            returns a dict as for ``missing_message.encode_wanted``
        :returns: a dict, partition number to a list of paths that the
            neighbour lacks, relative to the objects directory; a partition
            that could not be read here or there is left out
        :raises SyncMessageError: if the neighbour looks at nothing
        """
        waiting = []
        while True:
            while len(waiting) <= MAX_OBJECTS - PORTION:
                more = tpool.execute(self._take)
                if not more:
                    break
                waiting += more
            if not waiting:
                return self.wanted
            waiting = self._offer(ask, waiting)

    def _take(self):
        return list(islice(self._source, PORTION))

    def _offer(self, ask, objects):
        """:returns: those that the neighbour has not looked at yet"""
        groups = {}
        for each in objects:
            groups.setdefault(each[0], []).append(each)
        answer = ask({partition: [line for _, _, line in group]
                      for partition, group in groups.items()})
        if answer and not any(looked for looked, _ in answer.values()):
            raise SyncMessageError('none of %d objects was looked at'
                                   % len(objects))
        left = []
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

    def _objects(self, suffixes):
        """Yield (partition, path, line) of what is to be offered."""
        for partition, of_partition in suffixes.items():
            try:
                for suffix in of_partition:
                    yield from self._in_suffix(partition, suffix)
                    if partition not in self.wanted:
                        break
            except (Exception, Timeout) as err:
                # On a bad sector, or gone: no matter of the others.
                self.logger.error(
                    'Unable to list partition %s on %s: %s: %s', partition,
                    self.device, type(err).__name__, err)
                self.wanted.pop(partition, None)

    def _in_suffix(self, partition, suffix):
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
        # What is no object can make suffixes differ all the same.
        if partition in self.wanted:
            self.wanted[partition] += [os.path.join(path, name)
                                       for name in names
                                       if name not in offered]

    def _is_deleted(self, path, timestamps):
        return os.path.exists(os.path.join(
            self.objects_path, path, timestamps['ts_data'].internal + '.ts'))


def look_up(app, device, policy, offer, patience):
    """
    Find out which of the objects that a peer offers are wanted here.

    :param app: the object-server's controller
    :param device: name of the local device
    :param policy: the StoragePolicy
    :param offer: as from ``missing_message.decode_offer``
    :param patience: seconds after which nothing further is looked at, but
        for the first portion
    :returns: a dict, as for ``missing_message.encode_wanted``; a partition
        that cannot be read is left out
    :raises HTTPInsufficientStorage: if the device is not mounted
    """
    deadline = time.monotonic() + patience
    begun, answer = False, {}
    for partition, objects in offer.items():
        receiver = ssync_receiver.Receiver(app, Request.blank(
            '/%s/%d' % (quote(device), partition),
            headers={POLICY_HEADER: int(policy)}))
        looked, wanted = 0, []
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


def _wanted(receiver, objects):
    return [index for index, remote in enumerate(objects)
            if _is_wanted(remote, receiver._check_local(remote))]


def _is_wanted(remote, local):
    if ssync_receiver.encode_wanted(remote, local):
        return True
    # Of data and a tombstone with one timestamp, a diskfile keeps the
    # tombstone. What is deleted here has no ts_meta.
    return (remote['deleted'] and 'ts_meta' in local
            and remote['ts_data'] == local['ts_data'])
