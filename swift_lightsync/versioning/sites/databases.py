# SPDX-License-Identifier: Apache-2.0
"""The databases on this node's devices that propagation follows: those of
hidden containers, and those of versioned users' containers, for the objects
that are older than versioning.
"""

import math
import os
import random
import time
from collections import namedtuple

from swift.common.concurrency import sleep
from swift.common.utils import audit_location_generator
from swift.container.backend import DATADIR, ContainerBroker

from swift_lightsync.versioning.core.row_data import RESERVED, user_container
from swift_lightsync.versioning.sites.database import (
    BROKER_ERRORS,
    Database,
    closed_after,
    described,
)
from swift_lightsync.versioning.sites.directories import YIELD, Above, state_of

#: Seconds, more than those between two ticks of a file system's clock.
TICK = 0.1
#: Seconds for which a directory that is as old as it was is not looked into,
#: and at most twice as many.
QUIET = 15.0
#: Directories that are scanned without a pause.
SCANNED = 20

_Looked = namedtuple('_Looked', 'state followed')


class Databases:
    """Finds the databases to follow.

    :param devices: the directory of all devices
    :param site: the name of this site
    :param mode_of: a function of the account and the name of a container: a
        text, its mode, empty if it never had versions; None if nobody can
        tell
    :param place_of: a function of a ``Database`` that returns its ``place``
    """

    def __init__(self, devices, mount_check, site, logger, mode_of,
                 place_of=lambda database: (None, 1)):
        self.devices = devices
        self.mount_check = mount_check
        self.site = site
        self.logger = logger
        self._mode_of = mode_of
        self._place_of = place_of
        # By directory: what was scanned; the state of its files, and of rows.
        self._looked = {}
        self._states = {}
        # When those were changed that had nothing in a pending file, and until
        # when that is believed.
        self._quiet = {}
        self._refreshed = None
        self._above = Above(devices, mount_check)
        # Of the containers of shards, as they were said to be in this scan.
        self._modes = {}

    def refresh(self, age=0.0):
        """Look which databases were written to.

        :param age: seconds for which what was seen last holds
        """
        if self._refreshed and time.monotonic() - self._refreshed < age:
            return
        self._refreshed = time.monotonic()
        for number, (directory, looked) in enumerate(
                list(self._looked.items())):
            if looked.followed:
                self._refresh(directory, looked.followed)
            if number % YIELD == YIELD - 1:
                sleep(0)

    def _refresh(self, directory, followed):
        changed, until = self._quiet.pop(directory, (0, 0))
        try:
            # SQLite makes a journal there and removes it with each commit.
            above = os.stat(directory).st_mtime
            if above == changed and time.monotonic() < until:
                self._quiet[directory] = changed, until
                return
            found = state_of(directory)
            if above < time.time() - TICK and not any(
                    name.endswith('.pending') for name, _, _ in found):
                self._quiet[directory] = above, time.monotonic() + \
                    QUIET * (1 + random.random())
        except OSError:
            found = None
        before = self._states.get(directory)
        if before and before[0] == found:
            return
        # Where only points were stored, rows are what they were.
        if before and len(followed) == 1 and found and \
                followed[0].quiet == found:
            self._states[directory] = found, before[1]
            return
        # What is written at the same tick of the clock is not seen later.
        settled = found and max(changed for _, changed, _ in found) < (
            time.time() - TICK) * 10 ** 9
        self._states[directory] = (found, found) if settled else (None, None)
        for each in followed:
            each.forget()

    def flush(self, age=0.0, most=math.inf):
        """Store how far all tasks are done, see ``Database``.

        :param most: seconds that this may take
        """
        end = time.monotonic() + most
        for _, each in self:
            if time.monotonic() >= end:
                return
            try:
                if each.flush(age):
                    # Others wait for answers meanwhile.
                    sleep(0)
            except BROKER_ERRORS as err:
                # What is done twice is the same as once.
                self.logger.warning('%s: how far it is done is not stored: '
                                    '%s', each, err)

    def __iter__(self):
        return iter([(directory, each)
                     for directory, looked in self._looked.items()
                     for each in looked.followed])

    def followed(self, hidden):
        """Return the databases of hidden containers, or of users' ones.

        :returns: a list of pairs of a directory and a ``Database``
        """
        return [(directory, each) for directory, each in self
                if each.hidden is hidden]

    def roots(self):
        """Return the databases of hidden containers, none of shards."""
        return [each for _, each in self.followed(True) if each.is_root]

    def scan(self):
        """
        Look for databases that are new, gone or versioned since the last scan.
        """
        there, self._modes = {}, {}
        self._above.forget()
        for path, device, _ in audit_location_generator(
                self.devices, DATADIR, '.db', mount_check=self.mount_check,
                logger=self.logger):
            there[os.path.dirname(path)] = device
        for directory in set(self._looked) - set(there):
            del self._looked[directory]
            self._states.pop(directory, None)
            self._quiet.pop(directory, None)
        for number, (directory, device) in enumerate(there.items()):
            if number % SCANNED == SCANNED - 1:
                sleep(0)
            try:
                self._look(directory, device)
            except BROKER_ERRORS as err:
                self._looked.pop(directory, None)
                self.logger.warning('%s is left out: %s', directory, err)

    def look_for_new(self):
        """Look for databases that were made since the last scan."""
        self._modes = {}
        for directory, device in self._above.changed():
            try:
                if directory not in self._looked and state_of(directory):
                    self._look(directory, device)
            except BROKER_ERRORS as err:
                self.logger.debug('%s is not there yet: %s', directory, err)

    def state(self, directory):
        """Return a value that changes with every write there, as of the last
        ``refresh``; None: nobody knows.
        """
        return self._states.get(directory, (None, None))[1]

    def _look(self, directory, device):
        state = state_of(directory)
        looked = self._looked.get(directory)
        if looked is None or looked.state != state:
            self._looked[directory] = self._looked_at(
                directory, device, state, looked.followed if looked else ())
        # A ring that has changed takes effect with a scan.
        for each in self._looked[directory].followed:
            each.place = self._place_of(each)

    def _looked_at(self, directory, device, state, before):
        """Read which databases of a directory to follow, a ``_Looked``."""
        name = os.path.basename(directory) + '.db'
        broker = ContainerBroker(os.path.join(directory, name),
                                 logger=self.logger)
        told = described(broker)
        found, _ = told
        hidden = found.root.startswith(RESERVED)
        if hidden:
            try:
                user = user_container(found.root)
            except ValueError:
                return _Looked(state, ())
            # Once it is known it never changes.
            mode = found.mode or next(
                (each.mode for each in before), '') or \
                self._mode_of_root(found.account, user)
            state = state if mode else None
        elif found.is_root:
            mode = found.mode
        else:
            # That its container gets versions does not change the shard.
            state, mode = None, self._mode_of_root(found.account, found.root)
            if mode is None:
                return _Looked(state, before)
        if not (hidden or mode) or \
                found.may_be_deleted and self._is_deleted(broker):
            return _Looked(state, ())
        return _Looked(state, tuple(self._databases(
            broker, told, {each.id: each for each in before}, device,
            mode)))

    @staticmethod
    def _is_deleted(broker):
        with closed_after(broker):
            return broker.is_deleted()

    def _databases(self, broker, newest, known, device, mode):
        """Yield the databases of a container: two while it is being sharded.

        :param newest: what is ``described`` of the last one
        """
        files = broker.db_files[-2:]
        for path in files:
            each = ContainerBroker(path, logger=self.logger,
                                   force_db_file=True,
                                   skip_commits=path != files[-1])
            told = newest if path == files[-1] else described(each)
            found = known.get(told[0].id) or Database(
                each, device, self.site, mode, told)
            found.mode = mode
            yield found

    def _mode_of_root(self, *root):
        if root not in self._modes:
            self._modes[root] = self._mode_of(*root)
        return self._modes[root]
