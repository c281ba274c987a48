# SPDX-License-Identifier: Apache-2.0
"""What counts as an object in the database of a hidden container
(VERSIONING.md §3, "Counts").

Swift's triggers count each row. Those of a hidden container count only its
listing rows (Write-Repair) or versions (Read-Repair), so that all that Swift
reports is what clients expect. A database that has taken ``MOST`` rows gets
Swift's triggers back, and shards keep them: the sharder has to count rows.
"""

import re
from functools import lru_cache
from sqlite3 import Cursor

#: Rows that a database has ever taken.
MOST = 500000
_TRIGGERS = ('object_insert_policy_stat', 'object_delete_policy_stat')
_STOCK = re.compile(r'\(1 - (new|old)\.deleted\)'
                    r'(?: \* \(\1\.name >= char\(0, \d+, 0\)'
                    r' AND \1\.name < char\(0, \d+, 1\)\))?')


@lru_cache(16)
def _wanted(sql: str, kind: str) -> str:
    """Return the statement that makes a trigger.

    :param sql: that has made the present one
    :param kind: the letter of the rows that count; empty: all count
    """
    only = (r' * (\1.name >= char(0, %d, 0) AND \1.name < char(0, %d, 1))'
            % (ord(kind), ord(kind)) if kind else '')
    return _STOCK.sub(lambda found: found.expand(
        r'(1 - \1.deleted)' + only), sql)


def count_rows(connection: Cursor, listed: bool) -> None:
    """Make the triggers of a database count what its mode says.

    :param connection: a cursor in a transaction that the caller commits
    :param listed: whether its objects have listing rows
    """
    present = dict(connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND "
        'name IN (?, ?)', _TRIGGERS).fetchall())
    taken, = connection.execute(
        'SELECT COALESCE(MAX(ROWID), 0) FROM object').fetchone()
    kind = '' if taken > MOST else 'A' if listed else 'V'
    changed = {name: wanted for name, sql in present.items()
               if (wanted := _wanted(sql, kind)) != sql}
    if not changed:
        return
    for name, wanted in changed.items():
        connection.execute('DROP TRIGGER %s' % name)
        connection.execute(wanted)
    only = ('AND name >= char(0, %d, 0) AND name < char(0, %d, 1)'
            % (ord(kind), ord(kind)) if kind else '')
    connection.execute(
        'UPDATE policy_stat SET object_count = '  # nosec: B608
        '(SELECT COUNT(*) FROM '
        'object WHERE deleted = 0 AND object.storage_policy_index = '
        'policy_stat.storage_policy_index %s)' % only)
