# SPDX-License-Identifier: Apache-2.0
"""What clients were told of objects, and what may therefore be there."""

import threading
from collections import Counter
from dataclasses import dataclass, field

#: status of what was done; any other, or none, leaves open whether it was
DONE = {'PUT': (201, 202), 'DELETE': (204,)}


@dataclass
class Versions:
    """What is known of an object whose versions are kept.

    :param known: version id -> the hash of its body; None: a delete marker
    :param doubtful: hashes of bodies, and None, that may be there or not
    """
    known: dict = field(default_factory=dict)
    doubtful: set = field(default_factory=set)

    def wrong(self, rows):
        """Yield what contradicts it.

        :param rows: version id -> the hash that is listed, None for a marker
        """
        for version, body in self.known.items():
            if version not in rows:
                yield 'lost: version %s' % version
            elif rows[version] != body:
                yield 'other data: version %s' % version
        for version in rows.keys() - self.known.keys():
            if rows[version] not in self.doubtful:
                yield 'nobody wrote version %s' % version


@dataclass
class Plain:
    """What is known of an object that one client overwrites.

    :param allowed: hashes of bodies that may be there, None for no object:
        the last that was acknowledged, and what was begun since
    """
    allowed: list = field(default_factory=lambda: [None])

    def wrong(self, seen):
        """Yield what contradicts it; :param seen: a hash, or None"""
        if seen not in self.allowed:
            yield 'lost: it is %s, not of %s' % (seen, self.allowed)


class History:
    """What all clients were told; threads may add to it at the same time."""

    def __init__(self):
        self._lock = threading.Lock()
        #: (container, object) -> Versions
        self.versions = {}
        #: (site, container, object) -> Plain
        self.plain = {}
        #: (verb, status) -> how often; status is None without an answer
        self.counts = Counter()
        #: texts: of answers that were wrong when they came
        self.wrong = []

    def began(self, table, key, body):
        """Note that a write begins: what it writes may be there from now."""
        with self._lock:
            if table is self.versions:
                table.setdefault(key, Versions()).doubtful.add(body)
            else:
                table.setdefault(key, Plain()).allowed.append(body)

    def ended(self, table, key, verb, body, status, version=None):
        """Note the answer of a write.

        :param status: None if there was none
        :param version: id of the version that was made
        """
        with self._lock:
            self.counts[verb, status] += 1
            if status not in DONE[verb]:
                return
            if table is self.plain:
                table[key].allowed = [body]
            elif version:
                table[key].known[version] = body

    def read(self, status, key, is_right):
        """Note the answer of a read; a body has to be one that was written."""
        with self._lock:
            self.counts['GET', status] += 1
            if status == 200 and not is_right:
                self.wrong.append('%s: a body that nobody wrote' % (key,))

    def a_version(self, key, chance):
        """Return (id, hash) of a version with data, or None."""
        with self._lock:
            found = [(version, body) for version, body in self.versions.get(
                key, Versions()).known.items() if body]
        return chance.choice(found) if found else None

    def may_be(self, table, key, body):
        """Return whether a body was ever written to an object."""
        with self._lock:
            found = table.get(key)
            if found is None:
                return False
            # One that was overwritten meanwhile was there, too.
            return table is self.plain or body in found.doubtful
