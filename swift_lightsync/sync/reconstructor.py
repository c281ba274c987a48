# SPDX-License-Identifier: Apache-2.0
"""The object reconstructor: Swift's own, without partitions that are equal.

Stock Swift asks three partners for the suffix hashes of each partition in
each pass. Here each node that has partners is first asked about all of them by
LightSync's conversations, and stock Swift deals with what is not known to be
equal: rebuilding, reverting, ssync, statistics and options are Swift's.
PROTOCOL.md, "Erasure coding".
"""

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from logging import Logger
from optparse import OptionParser
from typing import Any

from swift.common.concurrency import Timeout, tpool
from swift.common.daemon import run_daemon
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import dump_recon_cache, parse_options
from swift.obj.reconstructor import SYNC, ObjectReconstructor

from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import full_exchange_due
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.partners import (
    Part,
    PartKey,
    Partners,
    Place,
    part_key,
    partner_key,
)
from swift_lightsync.sync.replicator_options import ReconstructorOptions
from swift_lightsync.sync.sync_client import SyncClient

#: Partitions that are compared together; they take memory.
TOGETHER = 4096
#: What object.recon calls what passes did.
RECON_KEY = 'object_reconstruction_lightsync'


class LightSyncReconstructor(ObjectReconstructor):
    """
    Reconstructs fragments as Swift does, but finds what differs by LightSync.

    :param conf: the ``[object-reconstructor]`` section
    :param logger: a logger, or None for one made from conf
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any],
                 logger: Logger | None = None) -> None:
        options = ReconstructorOptions.from_conf(conf)
        super().__init__(conf, logger=logger)
        self.full_exchange_interval = options.full_exchange_interval
        self.client = SyncClient(self.conn_timeout, self.http_timeout)
        self._prints = Fingerprints.by_policy(self._df_router, self.logger)
        self.partners = Partners(self.client, self._prints, self.logger)
        #: When the last pass that saw all partitions began, seconds; None:
        #: all are to be listed.
        self._listed: float | None = None
        #: Of partitions that have something to do, the partners that are
        #: equal.
        self._equal: dict[PartKey, set[Any]] = {}
        #: What the last pass found, by device.
        self._compared: dict[str, dict[str, Any]] = {}

    def run_once(self, *args: Any, **kwargs: Any) -> None:
        """Run one pass, which lists all partitions anew."""
        self._listed = None
        super().run_once(*args, **kwargs)

    def collect_parts(self, override_devices: Sequence[str] | None = None,
                      override_partitions: Sequence[int] | None = None
                      ) -> list[Part]:
        """Return the partitions of a pass that have something to do.

        They are found as Swift does it; then all of them are compared with
        their partners, and those that are equal to all are left out.
        """
        begin, requests = time.time(), self.client.connections.requests
        parts: list[Part] = super().collect_parts(
            override_devices, override_partitions)
        self._equal = {}
        self.partners.begin_pass()
        # So that a set of partitions is known by its name in the next pass.
        parts.sort(key=part_key)
        left: list[Part] = []
        for start in range(0, len(parts), TOGETHER):
            left += self._unsettled(parts[start:start + TOGETHER], begin)
        random.shuffle(left)
        self.client.close()
        if not override_partitions:
            self._listed = begin
        self._tell(parts, left, begin,
                   self.client.connections.requests - requests)
        return left

    def _unsettled(self, parts: list[Part], now: float) -> list[Part]:
        """Compare partitions with their partners.

        :returns: those that have something to do
        """
        try:
            places = self._listed_anew(self.partners.places(parts), now)
            equal = self.partners.equal(places)
        except (Exception, Timeout):
            self.logger.exception(
                'Error in the comparison of %d partitions with partners; '
                'they are looked at', len(parts))
            return parts
        settled = {place.key for place in places if equal.get(
            place.key) == set(map(partner_key, place.partners))}
        self._equal.update((key, found) for key, found in equal.items()
                           if found and key not in settled)
        return [part for part in parts if part_key(part) not in settled]

    def _listed_anew(self, places: Iterable[Place],
                     now: float) -> list[Place]:
        """List partitions anew whose turn it is.

        :returns: the places, without those that cannot be listed
        """
        found: list[Place] = []
        for place in places:
            if not place.asked or self._listed is not None \
                    and not full_exchange_due(place.partition, self._listed,
                                              now, self.full_exchange_interval
                                              ) or self._list_anew(place):
                found.append(place)
        return found

    def _list_anew(self, place: Place) -> bool:
        """List a partition anew; return False if that fails."""
        try:
            hashed, _ = tpool.execute(self._prints(place.policy).relist,
                                      place.device, place.partition)
            self.logger.update_stats('suffix.hashes', hashed)
        except (Exception, Timeout) as err:
            # Stock Swift tries, too, and says what is wrong.
            self.logger.debug('Unable to list partition %s: %s',
                              place.partition, err)
            return False
        return True

    def _get_part_jobs(self, local_dev: RingDevice, part_path: str,
                       partition: int, policy: StoragePolicy
                       ) -> list[dict[str, Any]]:
        """Return the jobs of a partition, as Swift makes them.

        Partners that are equal are left out of its SYNC job.
        """
        jobs: list[dict[str, Any]] = super()._get_part_jobs(
            local_dev, part_path, partition, policy)
        equal = self._equal.get((
            local_dev['device'], int(policy), partition), ())
        for job in jobs:
            if job['job_type'] == SYNC:
                job['sync_to'] = [node for node in job['sync_to']
                                  if partner_key(node) not in equal]
        return jobs

    def _tell(self, parts: Sequence[Part], left: Sequence[Part],
              begin: float, messages: int) -> None:
        """Count what the comparison has spared, and say it."""
        now, spared = time.time(), len(parts) - len(left)
        self.reconstruction_part_count += spared
        if parts:
            self.logger.info(
                'The comparison took %.3f s and %d messages: %d of %d '
                'partitions were equal to those of all their partners',
                now - begin, messages, spared, len(parts))
        total, remaining = (Counter(
            part['local_dev']['device'] for part in each)
            for each in (parts, left))
        for device, count in total.items():
            self.logger.update_stats('partition.update.count.%s' % device,
                                     count - remaining[device])
        self._compared = {device: {
            'compared': now, 'partitions': count,
            'equal': count - remaining[device]}
            for device, count in total.items()}

    def final_recon_dump(self, *args: Any, **kwargs: Any) -> None:
        """Record the pass, as Swift does, and what was equal in it."""
        super().final_recon_dump(*args, **kwargs)
        dump_recon_cache({RECON_KEY: self._compared}, self.rcache,
                         self.logger)


def main() -> None:
    """Run ``swift-object-lightreconstructor``, without a patched Swift."""
    parser = OptionParser('%prog CONFIG [options]')
    for flag, name in (('-d', 'devices'), ('-p', 'partitions')):
        parser.add_option(flag, '--' + name,
                          help='Reconstruct only the given %s, a '
                               'comma-separated list. Needs --once.' % name)
    conf_file, options = parse_options(parser=parser, once=True)
    run_daemon(LightSyncReconstructor, conf_file,
               section_name='object-reconstructor', **options)


if __name__ == '__main__':
    main()
