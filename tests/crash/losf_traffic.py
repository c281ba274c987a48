# SPDX-License-Identifier: Apache-2.0
"""What object-servers do for clients in the crash tests."""

import itertools
import random

from swift.common.concurrency import GreenPool
from swift.common.exceptions import DiskFileError

from swift_losf.errors import IndexUnavailable
from tests.crash.losf_objects import MIB

SHORT, LONG = 3000, MIB + 300000
CHANGES = {
    'put': lambda objects, name: objects.put(name, SHORT),
    'put a long one': lambda objects, name: objects.put(name, LONG),
    'post': lambda objects, name: objects.post(name),
    'delete': lambda objects, name: objects.delete(name)}
BEFORE = {
    'nothing': (),
    'an object': ('put',),
    'a long one': ('put a long one',),
    'a changed one': ('put', 'post'),
    'a deleted one': ('put', 'delete')}
#: seeds with names of their own; with others, objects are written anew
NAMES = 4


def histories():
    """Yield each (what was there before, change) that Swift allows."""
    for (before, past), change in itertools.product(BEFORE.items(), CHANGES):
        if change != 'post' or past and past[-1] != 'delete':
            yield before, change


def make(objects, name, changes):
    """Do changes of an object, one after the other."""
    for each in changes:
        CHANGES[each](objects, name)


def many_changes(seed, rounds, greenlets=12):
    """:returns: what a child does: many changes at the same time"""
    def work(objects):
        errors = []
        pool = GreenPool(greenlets)
        for number in range(greenlets):
            name = 'of %d and %d' % (seed % NAMES, number)
            pool.spawn(_change_for_long, objects, name, random.Random(
                '%d %d' % (seed, number)), rounds, errors)
        pool.waitall()
        if errors:
            raise errors[0]
    return work


def _change_for_long(objects, name, chance, rounds, errors):
    there = False
    for _ in range(rounds):
        change = chance.choice(list(CHANGES) if there else list(CHANGES)[:2])
        try:
            CHANGES[change](objects, name)
        except IndexUnavailable:
            # Perhaps it is deleted, perhaps it is not.
            there = False
        except (OSError, DiskFileError) as err:
            errors.append(err)
            return
        else:
            there = change != 'delete'
