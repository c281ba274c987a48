# SPDX-License-Identifier: Apache-2.0
"""DELETE of a container that has, or had, versions.

The life record of the container (VERSIONING.md §5) says that it is deleted,
and what it was. The hidden container outlives the user's: it has the record,
and tells peers what is purged. The propagator removes it.
"""

from dataclasses import replace

from swift.common.swob import HTTPConflict

from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.data.container import authorize
from swift_lightsync.versioning.data.container_headers import described, put_at
from swift_lightsync.versioning.proxy.container_listing import is_hidden
from swift_lightsync.versioning.rows.rows import RowsUnavailable

#: Null delete markers that are purged with their container, and one more.
MOST_HIDDEN = 1000


def next_life(strategy, exists):
    """Return the next life record of a container, which counts even if
    another site's clock is ahead.
    """
    before = strategy.life()
    stamp = strategy.tick(before and before.stamp)
    return replace(before or Life(exists, stamp, strategy.site),
                   exists=exists, stamp=stamp, site=strategy.site)


def _conflict(req):
    return HTTPConflict('Delete all versions before deleting container.',
                        request=req)


class ContainerDeletion:
    """Deletes a container that has no versions left.

    :param versioned: the ``VersionedContainer``
    """

    def __init__(self, versioned):
        self.versioned = versioned

    def respond(self, req):
        """Answer a DELETE of the container.

        :returns: a ``Response``
        :raises HTTPConflict: if it has versions or objects
        :raises RowsUnavailable: if too few replicas give the rows
        """
        authorize(req, None)
        strategy = self.versioned.strategy
        own = self.versioned.head(req, self.versioned.path) or {}
        try:
            if int(own.get('X-Container-Object-Count', 0)):
                raise _conflict(req)
            self._purge_hidden(req, strategy)
        except RowsUnavailable as err:
            if not err.missing:
                raise
            # There is nothing to delete but the user's.
            return self.versioned.change(req)
        return self._delete_recorded(req, strategy, own)

    @staticmethod
    def _purge_hidden(req, strategy):
        """Purge the null delete markers that nothing lies below. Swift lists
        none, so that its clients would not know what is left.

        :raises HTTPConflict: if there are other versions, or too many markers
        """
        left = strategy.versions(limit=MOST_HIDDEN)
        if len(left) == MOST_HIDDEN or not all(
                is_hidden(entry, req) for entry in left):
            raise _conflict(req)
        for entry in left:
            strategy.purge(entry)

    def _delete_recorded(self, req, strategy, own):
        """Delete the user's container, once that is recorded.

        :param own: its headers
        :raises HTTPConflict: if a proxy whose clock is ahead has just put it:
            Swift would refuse that, too
        """
        # A version that comes meanwhile revives it: the propagator does.
        life = next_life(strategy, False)
        if put_at(own) > life.stamp:
            raise HTTPConflict(request=req)
        if own and not life.described:
            life = life.describing(described(own))
        strategy.set_life(life)
        req.headers.update(life.as_of)
        resp = self.versioned.change(req)
        if resp.status_int == 409:
            strategy.set_life(next_life(strategy, True))
        # Where it has failed, some replicas may be deleted, and the others
        # will be: the propagator ends what is begun.
        return resp
