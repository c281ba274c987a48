# SPDX-License-Identifier: Apache-2.0
"""
Rows as one replica has them: those of versions in a database of this node,
those of objects at the replica of the user's container that has the same
place in the ring. Between them the replicas' servers look at all there is, at
the cost of one request an object each.
"""

from swift_lightsync.versioning.rows.row_reader import (
    RowReader,
    unavailable,
)


class _OneReplica(RowReader):
    """:param ordinal: of the replica that is asked"""

    def __init__(self, ring, client, ordinal):
        super().__init__(ring, client)
        self.ordinal = ordinal

    def _answers(self, place, query, kind):
        part, nodes = self.ring.get_nodes(*place)
        answer = self._request(nodes[self.ordinal % len(nodes)], part, place,
                               query, kind)
        if not answer.good:
            raise unavailable(place, [answer], 1)
        return [answer]


class NearRows:
    """
    What of ``Rows`` reads; nothing that is read here is durable for it.

    :param database: a ``Database`` that has all rows of its hidden container
    :param rows: ``Rows`` of the container
    :param ordinal: of this replica, at its place in the ring
    """

    def __init__(self, database, rows, ordinal):
        self.database = database
        self.user = rows.user
        self.reader = _OneReplica(rows.ring, rows.client, ordinal)

    def read(self, *queries):
        """
        :param queries: ``Query``
        :returns: a list of ``Row`` for each
        :raises RowsUnavailable: if the replica does not answer
        :raises BROKER_ERRORS: if the database does not
        """
        return [self.database.rows(query) if query.hidden
                else self.reader.rows(self.user, query)[0]
                for query in queries]
