# SPDX-License-Identifier: Apache-2.0
"""
Rows as one replica has them, for audits.

Rows of versions come from a database of this node; rows of objects come from
that replica of the user's container that has the same place in the ring.
Together the servers of all replicas see every row, at the cost of one request
per object each.
"""

from swift_lightsync.versioning.rows.row_client import unavailable
from swift_lightsync.versioning.rows.row_reader import RowReader


class LocalRows:
    """
    The reading part of ``Rows``, for one replica; a row that it reads need not
    be durable.

    :param database: a ``Database`` that has all rows of its hidden container
    :param rows: ``Rows`` of the container
    :param ordinal: the place of this replica in the ring
    """

    def __init__(self, database, rows, ordinal):
        self.database = database
        self.user = rows.user
        self._client = rows.client
        self._ordinal = ordinal
        self._reader = RowReader(rows.client, self._ask_one)

    def _ask_one(self, place, parameters, kind):
        part, nodes = self._client.ring.get_nodes(*place)
        answer = self._client.ask_one(nodes[self._ordinal % len(nodes)],
                                      part, place, parameters, kind)
        if not answer.good:
            raise unavailable(place, [answer], 1)
        return [answer]

    def read(self, *queries):
        """
        Read the rows that match some queries.

        :param queries: ``Query``
        :returns: a list of ``Row`` for each
        :raises RowsUnavailable: if the replica does not answer
        :raises BROKER_ERRORS: if the database cannot be read
        """
        return [self.database.rows(query) if query.hidden
                else self._reader.rows(self.user, query)[0]
                for query in queries]
