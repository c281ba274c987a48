# SPDX-License-Identifier: Apache-2.0
"""
What the writes of one object have in common: updates are given an id and made
durable, data is deleted, and objects that are older than their container's
versioning are *adopted* (VERSIONING.md §3), which makes null versions of them.

1. The data is copied to the hidden container, under its own timestamp.
2. The row of the null version is written.
3. The object is deleted in the user's container, just after that timestamp, so
   that a newer one of a proxy that does not know of versions yet stays, and is
   adopted next.

Each step may be repeated: whoever dies between two of them loses nothing. The
propagator adopts in the same way what nobody writes to.
"""

from swift.common.http import HTTP_NOT_FOUND
from swift.common.swob import (
    HTTPException,
    HTTPRequestEntityTooLarge,
    HTTPServiceUnavailable,
)
from swift.common.utils import drain_and_close

from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.object_data import (
    check,
    delete_data,
    delete_marker,
    null_version,
    open_data,
    store_copy,
)
from swift_lightsync.versioning.strategies.strategy import Mode

#: Bytes of a version whose data are cheaply stored once more; the rows are
#: read before a longer one is begun.
SMALL = 1 << 20


class ObjectWrites:
    """Writes to one object, on behalf of one request.

    :param versioned: the ``VersionedContainer``
    :param obj: the object's name, text
    :param req: the client's ``Request``
    """

    def __init__(self, versioned, obj, req):
        self.versioned = versioned
        self.obj = obj
        self.req = req
        # Whether the id of the version exceeds all that was there.
        self._follows = False

    def check_quota(self):
        """Refuse one more object than Swift's container_quotas allows, which
        counts only those of the user's container itself.

        :raises HTTPRequestEntityTooLarge: if there are as many already
        """
        quota = self.versioned.info['meta'].get('quota-count', '')
        if quota.isdigit() and self.versioned.mode is Mode.WRITE_REPAIR:
            hidden = self.versioned.hidden_info(self.req.environ)
            if self.versioned.info['object_count'] + \
                    hidden['object_count'] >= int(quota):
                raise HTTPRequestEntityTooLarge(body='Upload exceeds quota.',
                                                request=self.req)

    def begin(self, null=False):
        """Return the ``Version`` of a PUT. If it were written once more, after
        a greater head, a large one would cost much, and a null one might be
        overwritten between: these read the head first.

        :param null: whether it is a null version
        """
        length = self.req.content_length
        if null or length is None or length > SMALL:
            return self.after(self.versioned.strategy.latest(self.obj))
        return self.versioned.strategy.new_version()

    def after(self, latest, deleted=False):
        """Return the ``Version`` of an update that need not be written again.

        :param latest: the latest ``Entry``, which was just read, or None
        """
        self._follows = True
        return self.versioned.strategy.new_version(deleted, latest)

    def commit(self, entry):
        """Make a version durable, and delete the data of those it replaces.

        :returns: what the strategy's ``commit`` returned
        """
        committed = self.versioned.strategy.commit(
            entry, None if self._follows else self._store_again)
        self.versioned.latest.keep(self.obj, committed.entry)
        self._drop(committed.replaced)
        return committed

    def commit_marker(self, null):
        """Make a delete marker the latest version.

        :param null: whether it is a null version
        :returns: what the strategy's ``commit`` returned
        """
        self.adopt_counted()
        strategy = self.versioned.strategy
        version = self.after(strategy.latest(self.obj), deleted=True) \
            if null else strategy.new_version(deleted=True)
        return self.commit(delete_marker(self.obj, version, null))

    def copy(self, path, entry):
        """Store the newest data of an object as that of a version.

        :param path: of the object, as WSGI has it
        :returns: the answer
        :raises HTTPException: if the data was not stored
        """
        return self._store(open_data(self.versioned.app, self.req, path),
                           entry)

    def _store_again(self, old, new):
        """Store the data of a version under another id, too.

        :raises HTTPException: if that was not done
        """
        if old.version.deleted:
            return
        source = open_data(self.versioned.app, self.req,
                           self.versioned.data_path(old))
        if source.status_int == HTTP_NOT_FOUND:
            # Somebody who has seen it has purged it.
            drain_and_close(source)
            raise HTTPServiceUnavailable(request=self.req)
        self._store(source, new)

    def _store(self, source, entry):
        return store_copy(self.versioned.app, self.req, source,
                          self.versioned.data_path(entry), entry)

    def delete_data(self, entry):
        """Delete the data of a version; delete markers have none.

        :raises HTTPException: if it may still be there
        """
        if not entry.version.deleted:
            delete_data(self.versioned.app, self.req,
                        self.versioned.data_path(entry),
                        self.versioned.strategy.tick(max(
                            entry.version.id,
                            entry.changed or entry.version.id)))

    def replace_nulls(self):
        """Leave only the newest null version."""
        self._drop(self.versioned.strategy.replace_nulls(self.obj))

    def _drop(self, replaced):
        for entry in replaced:
            try:
                self.delete_data(entry)
            except HTTPException:
                # No row names it any more; it is dark data, and looked for.
                pass

    # Adoption

    def adopt_counted(self):
        """Adopt the object, if its container counts objects of its own."""
        if self.versioned.has_objects:
            self.adopt()

    def adopt(self):
        """Make a null version of the object of the user's container itself.

        :returns: its ``Entry``, or None if there is no such object
        :raises HTTPException: if it may not have been adopted
        :raises RowsUnavailable: the same
        """
        path = self.versioned.own_path(self.obj)
        source = open_data(self.versioned.app, self.req, path)
        if source.status_int == HTTP_NOT_FOUND:
            drain_and_close(source)
            return None
        check(self.req, source)
        entry = null_version(self.obj, source.headers,
                             self.versioned.strategy.site)
        self._store(source, entry)
        self._drop(self.versioned.strategy.apply(entry))
        stamp = entry.version.id
        delete_data(self.versioned.app, self.req, path,
                    Stamp(stamp.ticks, stamp.offset + 1), rows=True)
        return entry
