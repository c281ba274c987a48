# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
Failed Neighbour Handling: who is to be left alone, and until when.

LightSync §5.4.1, Table 2, Fig. 22. Rows are keyed by whatever failed to
answer: PROTOCOL.md, "Failed neighbours", says what is charged to which key.
"""

from dataclasses import dataclass

#: Exceptions after which a key counts as failed (the paper's ESL).
ERROR_SUPPRESSION_LIMIT = 10
#: Seconds for which it is then left alone (the paper's ESI).
ERROR_SUPPRESSION_INTERVAL = 60.0


@dataclass(frozen=True)
class Row:
    """
    :param n_exception: exceptions since the last contact, or since the last
        suppression ended
    :param t_exception: the time of the last one, seconds
    """
    n_exception: int
    t_exception: float


NO_EXCEPTION = Row(0, float('-inf'))


class FailureTable:
    """
    The exceptions that one node has met with the others.

    :param limit: the number of exceptions at which a key has failed
    :param interval: how long it is then suppressed, and how long an exception
        is remembered at all, in seconds
    """

    def __init__(self, limit=ERROR_SUPPRESSION_LIMIT,
                 interval=ERROR_SUPPRESSION_INTERVAL):
        self.limit = limit
        self.interval = interval
        self._rows = {}

    def row(self, key, now):
        """The row of a key: without exceptions once ESI has passed."""
        row = self._rows.get(key, NO_EXCEPTION)
        if now - row.t_exception < self.interval:
            return row
        self._rows.pop(key, None)
        return NO_EXCEPTION

    def record(self, key, now, weight=1):
        """
        Note an exception.

        :param key: what failed to answer
        :param now: the time, seconds
        :param weight: how many exceptions this one counts for: a time-out
            costs the caller more than a refusal
        :returns: True if the key has failed by this exception
        """
        before = self.row(key, now).n_exception
        self._rows[key] = Row(before + weight, now)
        return before < self.limit <= before + weight

    def contact(self, key):
        """
        Note that the key answered.

        :returns: True if the key was in the table
        """
        return self._rows.pop(key, None) is not None

    def has_failed(self, key, now):
        """Whether the key is to be skipped at this time."""
        return self.row(key, now).n_exception >= self.limit
