# SPDX-License-Identifier: Apache-2.0
"""
The files and JSON documents: valid ones, and how they are read.

Files go through a directory, by the function that reads them there.
"""

import json
import os
import pickle  # nosec: B403
import tempfile
import time
from dataclasses import asdict

from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import RecordError
from swift_lightsync.report import answer
from swift_lightsync.sync import (
    changed_file,
    failure_store,
    names,
    recon_records,
)
from swift_lightsync.sync.changed_file import Fingerprint, FingerprintError
from swift_lightsync.sync.core.failure_table import REPORT_INTERVAL
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.recon_records import PairRecord, PassRecord
from swift_lightsync.sync.wire import notice
from swift_lightsync.sync.wire.notice import Notice, NoticeError
from tools.fuzzing.mutate import JSON
from tools.fuzzing.target import Target

#: Pickles that do, or pretend to do, what a fingerprint never does.
HOSTILE_PICKLES = (
    b'cos\nsystem\n(S\'true\'\ntR.', b'c__builtin__\neval\n(S\'1\'\ntR.',
    b'\x80\x02cswift.common.utils\nmkdirs\nU\x01/\x85R.',
    b'\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.',
    b'\x80\x02X\xff\xff\xff\x7f.', b'\x80\x04\x8d' + b'\xff' * 7 + b'\x0f.',
    b'\x80\x02T\xff\xff\xff\x7f.', b'\x80\x02\x8b\xff\xff\xff\x7f.',
    b'\x80\x05\x96' + b'\xff' * 7 + b'\x0f.',
    b'\x80\x02K\x01r\xff\xff\xff\x7f.', b'\x80\x02' + b'(' * 4000 + b'.',
    b'\x80\x02K\x01' + b'\x85' * 4000 + b'.', b'\x80\x02]q\x00h\x00a.',
    b'\x80\x02' + b'](' + b'K\x012' * 1300 + b'e.',
    b'\x80\x02X\x01\x00\x00\x00a' + b'2' * 2000 + b't.',
    b'I' + b'9' * 4000 + b'\n.', b'F1e999\n.', b'Vx\\ud800\n.', b'.', b'N.')


def _place(rng, device=True):
    place = ['10.0.0.%d' % rng.randrange(256), rng.randint(1, 65535)]
    return place + ['sd%d' % rng.randrange(9)] * device


def _instant(rng):
    return round(time.time() - rng.uniform(-90, 4000), 3)


def make_fingerprint(rng):
    if rng.random() < 0.2:
        return rng.choice(HOSTILE_PICKLES)
    fields = asdict(Fingerprint(
        '%032x' % rng.getrandbits(128), rng.randrange(4097),
        tuple(rng.getrandbits(rng.choice((8, 40, 63))) for _ in range(3)),
        rng.uniform(0, 4e9)))
    if rng.random() < 0.2:
        fields[rng.choice(list(fields))] = rng.choice((
            None, -1, 1 << 70, 1.0, float('nan'), 'x', b'x', (), (1, 2), [],
            True, '0' * 32, float('inf')))
    if rng.random() < 0.1:
        fields[rng.choice(('more', '', 'self', 'root '))] = 1
    return pickle.dumps(fields, protocol=rng.choice((0, 1, 2, 2, 2, 3, 4, 5)))


def make_notice(rng):
    return Notice(_place(rng, False), _place(rng, rng.random() < 0.5)).encode()


def make_failures(rng):
    def some(make):
        return [make() for _ in range(rng.choice((0, 1, 2, 8)))]

    return json.dumps({
        'version': failure_store.VERSION,
        'rows': some(lambda: [_place(rng), rng.randrange(12),
                              _instant(rng), rng.random() < 0.5]),
        'hints': some(lambda: [_place(rng, False), _instant(rng)]),
        'rejoined': some(lambda: [_place(rng), _instant(rng)]),
        'reports': some(lambda: [_place(rng, False), _place(rng),
                                 _instant(rng)])}).encode()


def make_large_failures(rng):
    """Much in as few bytes as can be."""
    return rng.choice((b'[' * failure_store.MAX_BYTES,
                       b'{"rows":[' + b'[],' * 1000000,
                       b'{"version":1,"rows":[' + b'[["a",1],1,1,1],' * 200000
                       + b'[["a",1],1,1,1]],"hints":[],"rejoined":[],'
                       b'"reports":[]}'))


def _pair(rng):
    return PairRecord(
        rng.randrange(3), _place(rng), _place(rng), _instant(rng),
        _instant(rng), rng.choice((None, _instant(rng))), rng.randrange(999),
        rng.randrange(9), rng.randrange(9), rng.choice(list(Answer)))


def _pass(rng):
    return PassRecord(_place(rng), _instant(rng), rng.uniform(0, 99),
                      rng.randrange(999), rng.randrange(9), rng.randrange(9))


def make_recon(rng):
    pairs, passes = ({str(number): make(rng).to_json() for number in
                      range(rng.choice((0, 1, 3)))} for make in (_pair, _pass))
    return json.dumps({'version': recon_records.VERSION, 'pairs': pairs,
                       'devices': passes}).encode()


def make_answer(rng):
    return json.dumps({
        'time': _instant(rng), 'source': '/var/cache/swift',
        'pairs': [_pair(rng).to_json() for _ in range(2)],
        'devices': [_pass(rng).to_json()],
        'suspects': [{'key': _place(rng, rng.random() < 0.5),
                      'state': rng.choice(list(answer.State)).value,
                      'exceptions': rng.randrange(12),
                      'until': _instant(rng)}]}).encode()


def decode_answer(data):
    """Read it, and see that it can be sent on and read again."""
    found = answer.decode(data)
    if answer.decode(found.encode()) != found:
        raise AssertionError('is not read as it was written')
    return found


def decode_notice(data):
    found = notice.decode(data)
    if notice.decode(found.encode()) != found:
        raise AssertionError('is not read as it was written')
    return found


class Unreadable(Exception):
    """What the failure table says of a file that it will not have."""


class _Logger:

    @staticmethod
    def warning(message, *args):
        raise Unreadable(message % args)


class FileReader:
    """
    Reads inputs as a file of a directory of its own.

    :param name: of the file
    :param read: a function of the directory, that reads it
    """

    def __init__(self, name, read):
        self.directory = tempfile.TemporaryDirectory(prefix='fuzz-')
        self.name = name
        self.read = read

    def parse(self, data):
        path = os.path.join(self.directory.name, self.name)
        with open(path, 'wb') as output:
            output.write(data)
        return self.read(self.directory.name)


def read_failures(directory):
    """Read the table; whatever it says, nothing of it is for ever."""
    store = FailureStore({'recon_cache_path': directory}, _Logger)
    store.rejoined()
    table = store.table
    later = time.time() + 2 * REPORT_INTERVAL
    for key in {*table.rows, *table.hints, *table.rejoined}:
        if table.has_failed(key, later):
            raise AssertionError('%r has failed for ever' % (key,))
    for reporter, key in table.reports:
        if table.is_reported(reporter, key, later):
            raise AssertionError('%r is reported for ever' % (key,))
    table.forget(later)
    if table.rows or table.hints or table.rejoined or table.reports:
        raise AssertionError('an entry is never forgotten')
    return table


def read_recon(directory):
    return recon_records.read(os.path.join(directory, recon_records.FILE))


def _document(name, make, parse, refuses, longest, **more):
    return Target(name, make, parse, (refuses,), longest, 64,
                  mutations=JSON, **more)


TARGETS = (
    Target('changed.pkl', make_fingerprint,
           FileReader(names.CHANGED_FILE, changed_file.load).parse,
           (FingerprintError,), changed_file.MAX_BYTES, 64),
    _document('notice', make_notice, decode_notice, NoticeError,
              notice.MAX_BYTES),
    _document('failures', make_failures,
              FileReader(names.FAILURES_FILE, read_failures).parse,
              Unreadable, failure_store.MAX_BYTES,
              make_large=make_large_failures,
              buffer=failure_store.MAX_BYTES),
    _document('recon', make_recon,
              FileReader(recon_records.FILE, read_recon).parse, RecordError,
              MAX_BYTES, buffer=MAX_BYTES),
    _document('recon-answer', make_answer, decode_answer, RecordError,
              MAX_BYTES),
)
