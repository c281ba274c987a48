# SPDX-License-Identifier: Apache-2.0
"""How long writes took, and how many copies there were then: the tables."""

from dataclasses import dataclass
from statistics import median

#: seconds after an acknowledgement
AGES = (0, 0.1, 0.25, 0.5, 1, 2)


@dataclass(frozen=True)
class Write:
    """
    An upload that was watched.

    :param seconds: until it was acknowledged
    :param seen: a dict of number of copies -> seconds after the
        acknowledgement at which so many were found first
    """

    seconds: float
    seen: dict

    def copies_after(self, age):
        """
        :param age: seconds after the acknowledgement; before the first look,
            that counts
        :returns: how many copies there were
        """
        age = max(age, min(self.seen.values()))
        return max(number for number, when in self.seen.items()
                   if when <= age)


def _spread(writes):
    """:returns: seconds: the median, and what 95 % do not exceed"""
    seconds = sorted(write.seconds for write in writes)
    return median(seconds), seconds[(len(seconds) * 95 - 1) // 100]


def print_times(show, writes):
    """
    :param show: a Show
    :param writes: a dict of (what was written, name of the policy) -> list of
        Writes
    """
    policies = dict.fromkeys(policy for _, policy in writes)
    rows = []
    for what in dict.fromkeys(what for what, _ in writes):
        spreads = [_spread(writes[what, policy]) for policy in policies]
        rows += [['%s: %s' % (what, name),
                  *('%.1f' % (1000 * seconds) for seconds in values)]
                 for name, values in zip(('median', '95 %'), zip(*spreads))]
    show.lines('')
    show.table(['milliseconds until acknowledged', *policies], rows)


def print_copies(show, writes, replicas):
    """
    :param show: a Show
    :param writes: as for print_times
    :param replicas: how many copies there are at the end
    """
    rows = []
    for policy in dict.fromkeys(policy for _, policy in writes):
        of_policy = [write for (_, name), some in writes.items()
                     for write in some if name == policy]
        for number in range(1, replicas + 1):
            rows.append(['%s: %d of %d' % (policy, number, replicas), *(
                str(sum(write.copies_after(age) == number
                        for write in of_policy)) for age in AGES)])
    show.lines('')
    show.table(['objects with so many copies', 'at once',
                *('%g s' % age for age in AGES[1:])], rows)
