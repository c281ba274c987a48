# SPDX-License-Identifier: Apache-2.0
"""One index server, as the manager knows it: it is told the part power of the
ring, and looked at for recon.
"""

import os
from typing import Any

from swift.common.concurrency import spawn_n

from swift_losf.daemon.supervisor import State
from swift_losf.errors import IndexUnavailable
from swift_losf.volumes.ballast import is_given_up


def free_percent(layout):
    """Return what is free where volumes or index are, whichever has less."""
    return min(100 * found.f_bavail / found.f_blocks
               for found in map(os.statvfs, (layout.volumes, layout.index)))


class ManagedServer:
    """A server that is supervised, and the client that asks it.

    :param layout: its Layout
    :param supervised: a Supervised
    :param client: an IndexClient
    """

    def __init__(self, layout, supervised, client):
        self.supervised = supervised
        self._layout = layout
        self._client = client
        #: its process id, and the part power that it was told last
        self._told: Any = None

    @property
    def runs(self):
        """Whether it runs, and has not been told to stop."""
        return self.supervised.state is State.RUNNING

    def tell(self, part_power):
        """Have it go by the part power of the ring, if it does not yet.

        No server is started anew for that: those of all nodes would be, at
        about the same time.

        :param part_power: None: it is not known
        """
        told = self.supervised.pid, part_power
        if part_power is not None and self.runs and self._told != told:
            self._told = told
            spawn_n(self._call, part_power)

    def _call(self, part_power):
        try:
            self._client.set_part_power(part_power)
        except IndexUnavailable:
            # Again with the next look.
            self._told = None

    def observe(self, count):
        """Return what recon is told of it, a dict.

        :param count: called with its statistics, if it answers
        """
        supervised = self.supervised
        seen = {'state': supervised.state.value, 'pid': supervised.pid,
                'restarts': supervised.restarts}
        if self.runs:
            try:
                known = vars(self._client.statistics())
                count(known)
                seen.update(known, free_percent=free_percent(self._layout),
                            is_full=any(map(is_given_up,
                                            self._layout.ballasts)))
            except (IndexUnavailable, OSError) as err:
                seen['error'] = str(err)
        return seen
