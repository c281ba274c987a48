# SPDX-License-Identifier: Apache-2.0
"""
Errors of the disk at each file that PROAR adds, at each moment, for each verb.

No client meets a 5xx that stock Swift would not have given for a like fault,
and what was acknowledged is read. The table is PLACES x ERRNOS x verbs.
"""

import errno
import json
import os
import shutil
import time
import unittest
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

import pytest

from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    RECORD,
    SEGMENT,
    Entry,
    Header,
    Op,
    State,
    eversion_of,
)
from swift_lightsync.proar.log.segment import logs_path, numbers, segment_path
from swift_lightsync.proar.log.segment_source import HEADROOM
from swift_lightsync.proar.vouching.places import version_of
from tests.functional.clusters import wait_for
from tests.functional.errno_faults import Fault
from tests.functional.role_cluster import FAST, faulty, role_cluster

ERRNOS = tuple(getattr(errno, name) for name in (
    'EACCES', 'EROFS', 'EIO', 'ENOSPC', 'ENOMEM', 'EMFILE'))
VERBS = 'PUT', 'POST', 'DELETE', 'GET', 'HEAD'
#: seconds in which a daemon meets a fault, if requests do not
PATIENCE = 60
#: No device is avoided: each request meets the fault.
OPTIONS = {'proxy-server': {'app:proxy-server': {
    'error_suppression_interval': 0, 'conn_timeout': 60,
    'node_timeout': 120}}}
SEGMENTS = r'proar/\d+\.log'
SERVER, CONVERGER = 'object-server', 'object-converger'


@dataclass(frozen=True)
class Place:
    """A file and a moment.

    :param name: of both
    :param path: a regular expression of the file below its device
    :param calls: that fail
    :param daemon: in which
    :param before: what is done to the log first: 'gone', 'anew' or 'full'
    :param length: of the bytes that are written; 0: any
    """
    name: str
    path: str
    calls: tuple = ()
    daemon: str = SERVER
    before: str = ''
    length: int = 0


PLACES = (
    Place('directory, made', 'proar', ('mkdir',), before='gone'),
    Place('directory, synced', 'proar', ('open', 'fsync'), before='gone'),
    Place('directory, listed', 'proar', ('listdir',), before='anew'),
    Place('directory, room', 'proar', ('statvfs',)),
    Place('segment, made', SEGMENTS, ('open',), before='gone'),
    Place('segment, reserved', SEGMENTS, ('posix_fallocate',), before='gone'),
    Place('segment, zeros', SEGMENTS, ('pwrite',), before='gone'),
    Place('segment, its zeros synced', SEGMENTS, ('fsync',), before='gone'),
    Place('segment, opened', SEGMENTS, ('open',), before='anew'),
    Place('segment, looked at', SEGMENTS, ('pread',), before='anew'),
    Place('segment, read for the exposure', SEGMENTS, ('open', 'pread')),
    Place('segment, intent', SEGMENTS, ('pwrite',)),
    Place('segment, intent synced', SEGMENTS, ('fdatasync',)),
    Place('segment, outcome', SEGMENTS, ('pwrite',), length=1),
    Place('segment, roll-over', SEGMENTS, ('posix_fallocate', 'fsync'),
          before='full'),
    Place('segment, opened by the converger', SEGMENTS, ('open',), CONVERGER,
          'anew'),
    Place('segment, read by the converger', SEGMENTS, ('pread',), CONVERGER),
    Place('segment, noted by the converger', SEGMENTS, ('pwrite',),
          CONVERGER),
    Place('directory, listed by the converger', 'proar', ('listdir',),
          CONVERGER),
    Place('standing, read', 'proar_roles.*/standing', ('open',)),
    Place('standing, written', 'proar_roles.*/standing', ('open', 'pwrite'),
          CONVERGER),
    Place('missed', 'proar_roles.*/missed'),
    Place('promises', 'proar_roles.*/promises', daemon=''),
    Place('directory of roles', 'proar_roles.*'),
    Place('all', 'proar.*', daemon=''),
)
#: How stock Swift's files of an object fail.
STOCK = (
    Place('opened', r'objects.*', ('open', 'mkdir', 'listdir')),
    Place('written', r'objects.*', ('write', 'fsync')),
    Place('made a directory', r'(objects|tmp).*', ('mkdir',)),
)


def fault_of(place, path, number):
    """Return a Fault.

    :param place: a Place
    :param path: of the device
    :param number: the errno
    """
    return Fault('%s/%s' % (path, place.path), number, list(place.calls),
                 place.daemon, place.length)


_at_end = ExitStack()
_faults = _roles = None


def setUpModule():
    global _faults, _roles
    _faults = _at_end.enter_context(faulty())
    _roles = _at_end.enter_context(role_cluster(options=OPTIONS))


def tearDownModule():
    # pytest makes no cleanups of modules.
    _at_end.close()


class TableCase(unittest.TestCase):
    """Three objects of one device, and requests while that has faults."""

    def setUp(self):
        self.cluster = _roles.cluster

    def make(self, container, policy):
        """Make three objects whose primary role one device has."""
        self.traffic = _roles.traffic(container, 0, 0)
        #: Stock Swift may show what was there before.
        self.is_strict = policy == FAST.name
        if not self.is_strict:
            self.traffic.path += '-stock'
            _roles._client.put_container(container + '-stock', {
                'X-Storage-Policy': policy})
        first = _roles.roles(self.traffic, 'o0')[0]
        self.device = first
        self.path = self.cluster.device_path(
            self.cluster.node_of(first), first)
        self.names = [name for name in map('o%d'.__mod__, range(1000))
                      if _roles.roles(self.traffic, name)[0] == first][:3]
        self.other = next(
            name for name in map('o%d'.__mod__, range(1000))
            if _roles.roles(self.traffic, name)[1] == first)
        self.put(self.other)
        #: name -> the body that was acknowledged; None: it was deleted
        self.bodies = {name: self.put(name) for name in self.names}

    def put(self, name):
        request = self.traffic.ask('PUT', name)
        self.assertEqual(201, request.status)
        return request.body

    def faults(self, place, number):
        return _faults.present_are(fault_of(place, self.path, number))

    def ask_all(self):
        """:returns: verb -> its status, of requests while there are faults"""
        a, b, c = self.names
        found = {}
        # The device vouches for the last one's primary role.
        for verb, name in (('PUT', a), ('POST', b), ('DELETE', c),
                           ('GET', a), ('HEAD', self.other)):
            request = self.traffic.ask(verb, name)
            found[verb] = request.status
            if verb == 'PUT' and request.status == 201:
                self.bodies[a] = request.body
            elif verb == 'DELETE' and request.status in (204, 404):
                self.bodies[c] = None
            elif verb == 'GET' and request.status == 200 and self.is_strict:
                self.assertEqual(self.bodies[a], request.body)
        return found

    def check(self):
        """What was acknowledged is read, now that there is no fault."""
        for name, body in self.bodies.items() if self.is_strict else ():
            request = self.traffic.ask('GET', name)
            self.assertEqual(404 if body is None else 200, request.status)
            if body is not None:
                self.assertEqual(body, request.body)
        for name, body in self.bodies.items():
            if body is None:
                self.bodies[name] = self.put(name)


class TestTable(TableCase):

    def worst_of_stock(self):
        """:returns: verb -> the worst status that stock Swift gives"""
        self.make('errnos', 'gold')
        worst = dict.fromkeys(VERBS, 0)
        for place in STOCK:
            for number in ERRNOS:
                with self.faults(place, number):
                    found = self.ask_all()
                self.check()
                worst = {verb: max(worst[verb], found[verb])
                         for verb in VERBS}
        return worst

    def prepare(self, how):
        """Bring the log of the device into a state."""
        if not how:
            return
        wait_for(lambda: not _roles.open_entries(), 'all has converged')
        directory = logs_path(self.path)
        known = numbers(directory)
        if how == 'gone':
            shutil.rmtree(directory, ignore_errors=True)
        elif how == 'full':
            os.makedirs(directory, exist_ok=True)
            _make_full_segment(directory, max(known, default=0) + 1,
                               version_of(_roles.objects.ring,
                                          _roles.objects.policy))
            for number in known:
                os.unlink(segment_path(directory, number))
        else:
            for number in known:
                path = segment_path(directory, number)
                shutil.copyfile(path, path + '.copy')
                os.replace(path + '.copy', path)

    def hold(self, cases):
        """Make all requests in each case.

        :param cases: a list of (Place, errno)
        """
        stock = self.worst_of_stock()
        self.make('errnos', FAST.name)
        wrong, met, began = [], set(), time.monotonic()
        for place, number in cases:
            with self.subTest(place.name, errno=number):
                self.prepare(place.before)
                with self.faults(place, number):
                    found = self.ask_all()
                    if _faults.were_met(PATIENCE):
                        met.add(place.name)
                self.check()
                wrong += [
                    (place.name, errno.errorcode[number], verb, status)
                    for verb, status in found.items()
                    if status >= 500 and status > stock[verb]]
        print('%d cases in %.0f s; stock gives at worst %s' % (
            len(cases), time.monotonic() - began, stock))
        self.assertEqual([], wrong)
        self.assertEqual({place.name for place, _ in cases}, met)
        _roles.converge()

    def test_no_client_meets_what_stock_swift_would_not_give(self):
        self.hold([(place, ERRNOS[number % len(ERRNOS)])
                   for number, place in enumerate(PLACES)])

    @pytest.mark.long
    def test_so_it_is_with_each_errno_at_each_place(self):
        self.hold(list(product(PLACES, ERRNOS)))

    def test_the_monitor_is_not_green_while_a_log_cannot_be_written(self):
        self.make('monitor', FAST.name)
        for number in ERRNOS:
            with self.subTest(errno=number):
                with self.faults(PLACES[-1], number):
                    self.ask_all()
                    wait_for(lambda: self.complaints(number),
                             'the monitor tells of %s' % self.device)
                self.check()

    def complaints(self, number):
        """:returns: what swift-proar-lag says of refused writes of late"""
        done = self.cluster.run(['swift-proar-lag', '--json'], check=False)
        return done.returncode == 1 and [
            each for each in json.loads(done.stdout)['complaints']
            if self.device in each and 'could not be logged' in each]


def _make_full_segment(directory, number, ring):
    """Make a segment that has just as much room as a writer needs."""
    records = [Entry(Op.MODIFY, 0, FAST.index, 0, os.urandom(16), 1, 0, 1,
                     ring, state=State.CONVERGED).encode(
                         eversion_of(number, index))
               for index in range(1, CAPACITY - HEADROOM + 1)]
    assert len(records[0]) == RECORD
    with open(segment_path(directory, number) + '.new', 'wb') as file:
        file.write(Header(number, bytes(16)).encode() + b''.join(records))
        file.truncate(SEGMENT)
    os.replace(file.name, segment_path(directory, number))
