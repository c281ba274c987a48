# SPDX-License-Identifier: Apache-2.0
"""Files and JSON documents of daemons, and how they are read.

Files go through a directory, by the function that reads them there.
"""

import os
import pickle  # nosec: B403
import tempfile
import time
from dataclasses import asdict, replace
from operator import methodcaller
from types import SimpleNamespace

from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import RecordError
from swift_lightsync.report import answer
from swift_lightsync.sync import changed_file, failure_store, journal, names
from swift_lightsync.sync import recon_records as recon
from swift_lightsync.sync.core.failure_table import REPORT_INTERVAL
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.wire import notice
from swift_lightsync.versioning.sites import options
from tools.fuzzing.mutate import JSON, edit_text
from tools.fuzzing.target import Target, as_json, as_text

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
NOW = round(time.time(), 3)
NODE = ['10.0.0.1', 6000]
DEVICE, OTHER = NODE + ['sda'], ['10.0.0.2', 65535, 'sd5']

FINGERPRINT = asdict(changed_file.Fingerprint(
    '0123456789abcdef' * 2, 4096, (5, 1 << 40, (1 << 63) - 1), 3e9))
#: Other fingerprints, most of which are none: a field has another value.
FIELDS = (
    ('suffixes', 0), ('suffixes', -1), ('suffixes', 1.0), ('suffixes', True),
    ('source', (1, 1 << 70, 0)), ('source', (1, 2)), ('source', []),
    ('exchanged', float('nan')), ('exchanged', float('inf')),
    ('exchanged', None), ('root', b'x'), ('root', '0' * 33), ('more', 1),
    ('', 1), ('self', 1), ('root ', 1))
PAIRS = [recon.PairRecord(1, DEVICE, OTHER, NOW - 4000, NOW, agreed, 999, 8,
                          0, each)
         for each in Answer for agreed in (None, NOW)]
PASS = recon.PassRecord(DEVICE, NOW, 99.5, 999, 8, 1)
SUSPECTS = [answer.Suspect(key, each, 11, NOW + 90)
            for each in answer.State for key in (NODE, DEVICE)]

CONF = ('''[paris]
endpoints = http://10.0.0.1:8080/
key = %s
''' % ('k' * 32), '''[new-york]
endpoints = https://10.0.0.1:1/, http://10.0.0.2:65535/
key = %s
old_key = %s
[rome]
endpoints = http://[::1]:80/
key = %s
''' % ('k' * 64, 'o' * 40, 'x' * 32))


def fingerprints():
    """Return fingerprints, valid and not, and pickles that are hostile."""
    found = [pickle.dumps(FINGERPRINT, protocol) for protocol in range(6)]
    found += [pickle.dumps({**FINGERPRINT, name: value}, 2)
              for name, value in FIELDS]
    return (*found, *HOSTILE_PICKLES)


def large_failures():
    """Yield much in as few bytes as can be."""
    yield b'[' * failure_store.MAX_BYTES
    yield b'{"rows":[' + b'[],' * 1000000
    yield (b'{"version":1,"rows":[' + b'[["a",1],1,1,1],' * 200000
           + b'[["a",1],1,1,1]],"hints":[],"rejoined":[],"reports":[]}')


class Unreadable(Exception):
    """The failure table, or a journal, is not what it should be."""


def _refuse(message, *args):
    raise Unreadable(message % args)


def in_file(name, read):
    """Return a parser that puts its input in a file of a directory."""
    def parse(data):
        with tempfile.TemporaryDirectory(prefix='fuzz-') as directory:
            with open(os.path.join(directory, name), 'wb') as output:
                output.write(data)
            return read(directory)
    return parse


def read_failures(directory):
    """Read the table, and see that nothing of it lasts for ever."""
    store = failure_store.FailureStore({'recon_cache_path': directory},
                                       SimpleNamespace(warning=_refuse))
    store.rejoined()
    table = store.table
    later = time.time() + 2 * REPORT_INTERVAL
    for key in {*table.rows, *table.hints, *table.rejoined}:
        assert not table.has_failed(key, later), 'it has failed for ever'
    for reporter, key in table.reports:
        assert not table.is_reported(reporter, key, later), \
            'it is reported for ever'
    table.forget(later)
    assert not (table.rows or table.hints or table.rejoined
                or table.reports), 'an entry is never forgotten'
    return table


def read_recon(directory):
    return recon.read(os.path.join(directory, recon.FILE))


def read_journal(directory):
    """Read a device's journal, or what takes the place of one that is none."""
    with open(os.path.join(directory, names.JOURNAL_FILE), 'rb') as stream:
        data = stream.read()
    end = journal.begin(directory, os.path.join(directory, 'tmp'))
    found = journal.read_on(directory, replace(end, offset=journal.HEAD,
                                               tail=b''))
    assert found, 'a journal cannot be read from its beginning'
    assert found[0] == end, 'not all of it was read'
    if data[:journal.HEAD] != end.head:
        assert not found[1], 'a new journal has entries'
        raise Unreadable('too short' if len(data) < journal.HEAD
                         else 'not a journal')
    if (len(data) - journal.HEAD) % journal.ENTRY.size:
        raise Unreadable('the last entry is torn')
    return sorted(found[1])


def read_sites(data):
    """Read it, and see that each endpoint has a host and a port."""
    peers = options.parse(data.decode('utf8'), 'oslo', 'a file')
    for endpoint in (each for peer in peers.values()
                     for each in peer.endpoints):
        assert 0 < endpoint.port < 65536 and endpoint.host, \
            'an endpoint is %r' % (endpoint,)
    return peers


def _document(name, documents, parse, refuses, longest, **more):
    return Target(name, as_json(*documents), parse, (refuses,), longest,
                  mutations=JSON, **more)


TARGETS = (
    Target('changed.pkl', fingerprints(),
           in_file(names.CHANGED_FILE, changed_file.load),
           (changed_file.FingerprintError,), changed_file.MAX_BYTES),
    Target('journal', [
        journal.MAGIC + bytes(range(12)) + b''.join(
            journal.ENTRY.pack(number % 3, 0, number)
            for number in range(count)) for count in (0, 1, 9, 40)],
           in_file(names.JOURNAL_FILE, read_journal), (Unreadable,), 4096),
    _document('notice', [{'version': 1, 'reporter': NODE, 'failed': failed}
                         for failed in (OTHER, DEVICE, ['10.0.0.2', 1])],
              notice.decode, notice.NoticeError, notice.MAX_BYTES,
              write=methodcaller('encode')),
    _document('failures', [{
        'version': 1, 'rows': rows, 'hints': [[NODE, NOW]] * len(rows),
        'rejoined': [[OTHER, NOW]], 'reports': [[NODE, DEVICE, NOW]]}
        for rows in ([], [[DEVICE, 11, NOW - 4000, True],
                          [OTHER, 0, NOW + 90, False]])],
              in_file(names.FAILURES_FILE, read_failures), Unreadable,
              failure_store.MAX_BYTES, large=large_failures,
              buffer=failure_store.MAX_BYTES),
    _document('recon', [{
        'version': 1, 'pairs': {number: each.to_json() for number, each in
                                enumerate(pairs)}, 'devices': passes}
        for pairs, passes in (((), {}), (PAIRS, {'a': PASS.to_json()}))],
              in_file(recon.FILE, read_recon), RecordError, MAX_BYTES,
              buffer=MAX_BYTES),
    _document('recon-answer', [answer.NodeAnswer(
        NOW, '/var/cache/swift', PAIRS, [PASS], SUSPECTS).to_json()],
              answer.decode, RecordError, MAX_BYTES,
              write=methodcaller('encode')),
    # configparser keeps several copies of all lines.
    Target('sites.conf', as_text(*CONF), read_sites, (ValueError,), 1 << 16,
           mutations=(edit_text,)),
)
