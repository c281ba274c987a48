# SPDX-License-Identifier: Apache-2.0
"""
LIGHTSYNC: the object-server's side of a sync message.

LightSync §5.2-5.3. ``LIGHTSYNC /<device>/roots`` carries roots of slices of
a set of partitions; the reply names the slices whose root is another one
here. PROTOCOL.md, "The sync message".
"""

import contextlib
import time

from swift.common.base_storage_server import timing_stats
from swift.common.concurrency import patcher, tpool
from swift.common.exceptions import ChunkReadTimeout, DiskFileDeviceUnavailable
from swift.common.request_helpers import (
    get_name_and_placement,
    split_and_validate_path,
)
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPLengthRequired,
    HTTPNoContent,
    HTTPRequestEntityTooLarge,
    HTTPRequestTimeout,
    HTTPServiceUnavailable,
    Response,
)
from swift.common.utils import non_negative_int, public, replication

from swift_lightsync.common.conf_options import option
from swift_lightsync.common.turns import NoTurn, Turns
from swift_lightsync.sync import missing, missing_message
from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core.comparison import differing_slices
from swift_lightsync.sync.core.partition_set import PartitionSetError
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.fingerprints import Fingerprints, in_portions
from swift_lightsync.sync.names import (
    IDLE_HEADER,
    MISSING,
    NOTICE,
    REHASH,
    ROOTS,
    SENDER_HEADER,
    SUFFIXES,
)
from swift_lightsync.sync.wire import exchange_message, notice, sync_message
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import Verdict

#: Seconds after which no further partition is looked at: many may have to be
#: hashed first, and the peer waits. Those not looked at count as differing.
PATIENCE = 10
#: Seconds that a message waits for its turn.
TURN_PATIENCE = PATIENCE / 2
#: Messages that are answered at the same time, as Swift's SSYNCs.
DEFAULT_TURNS = 4
#: Bytes of a body that is read before its turn has come; a longer one waits
#: in the network, not in memory.
SHORT_BODY = 64 << 10


def _turns(value):
    # As Swift has it, nothing at all is the default.
    return non_negative_int(value or DEFAULT_TURNS)


class LightSyncVerb:
    """To be mixed into an object-server's controller."""

    def setup(self, conf):
        """Implementation specific setup, as the stock one, and ours."""
        super().setup(conf)
        self._turns = Turns(option(conf, 'replication_concurrency',
                                   DEFAULT_TURNS, _turns), TURN_PATIENCE)
        # Pool threads look sets up, and the lock is not the hub's.
        self._known_sets = KnownSets(
            lock=patcher.original('threading').Lock())
        self._fingerprints = {}
        self._failures = FailureStore(conf, self.logger)
        self._activity = Activity(conf, self.logger)

    @public
    @replication
    @timing_stats(sample_rate=0.1)
    def LIGHTSYNC(self, request):
        """
        Answer what a peer asks about partitions of a local device, or take
        a notice.

        :param request: a swob.Request; its path names the device, and what
            is sent, one of those in ``names``
        :returns: 200 with an answer, or 204 if there is nothing to answer;
            400 for what is no message, 408 for a body that does not come in
            time, 411 and 413 for a length that is missing or too large, 503
            if too many others are being answered, 507 if the device is not
            mounted
        """
        handle = {ROOTS: self._take_roots, SUFFIXES: self._take_suffixes,
                  MISSING: self._take_missing, REHASH: self._take_rehash,
                  NOTICE: self._take_notice}
        device, what, more = split_and_validate_path(request, 2, 3, True)
        if not self._diskfile_router[POLICIES.default].get_dev_path(device):
            return HTTPInsufficientStorage(drive=device, request=request)
        if what not in handle or more:
            return HTTPBadRequest(
                request=request, body='LIGHTSYNC of %s, must be of /%s/%s'
                % (request.path, device, ' or '.join(handle)))
        try:
            return handle[what](request)
        except (sync_message.SyncMessageError, PartitionSetError,
                notice.NoticeError) as err:
            return HTTPBadRequest(request=request, body=str(err))
        except NoTurn as err:
            return HTTPServiceUnavailable(request=request, body=str(err))
        except DiskFileDeviceUnavailable:
            return HTTPInsufficientStorage(drive=device, request=request)

    def _take_roots(self, request):
        device, _, policy = get_name_and_placement(request, 2, 2)
        for sender in notice.parse_sender(request.headers.get(SENDER_HEADER)):
            if self._failures.has_failed(sender):
                # Off the hub: it locks and writes a file.
                tpool.execute(self._failures.hint, sender)
        with self._turn(request) as body:
            reply = self._reply(device, policy, body)
        return Response(request=request, body=reply,
                        headers={IDLE_HEADER: self._activity.idle(device)},
                        content_type='application/octet-stream')

    def _take_suffixes(self, request):
        device, _, policy = get_name_and_placement(request, 2, 2)
        with self._turn(request) as body:
            hashes = self._in_portions(
                self._prints(policy).suffix_hashes, device,
                exchange_message.decode_suffixes(body))
            reply = exchange_message.encode_suffix_hashes(hashes)
        return Response(request=request, body=reply,
                        content_type='application/octet-stream')

    def _take_missing(self, request):
        device, _, policy = get_name_and_placement(request, 2, 2)
        with self._turn(request, missing_message.MAX_OFFER_BYTES) as body:
            offer = tpool.execute(missing_message.decode_offer, body)
            answer = missing.look_up(self, device, policy, offer, PATIENCE)
            reply = missing_message.encode_wanted(answer)
        return Response(request=request, body=reply,
                        content_type='application/octet-stream')

    def _take_rehash(self, request):
        device, _, policy = get_name_and_placement(request, 2, 2)
        fingerprints = self._prints(policy)
        with self._turn(request, exchange_message.MAX_REHASH_BYTES) as body:
            suffixes = exchange_message.decode_rehash(body)
            tpool.execute(fingerprints.invalidate, device, suffixes)
            # Hashing is what removes the files that newer ones superseded.
            self._in_portions(fingerprints.roots, device, suffixes)
        return HTTPNoContent(request=request)

    def _take_notice(self, request):
        taken = notice.decode(_read_body(
            request, _length(request, notice.MAX_BYTES),
            self.client_timeout))
        tpool.execute(self._failures.report, taken.reporter, taken.failed)
        return HTTPNoContent(request=request)

    def _reply(self, device, policy, body):
        # Off the hub: a few bytes can name a set of many partitions.
        message, partitions = tpool.execute(self._decode_roots, body)
        if partitions is None:
            return sync_message.encode_reply(Verdict.UNKNOWN_SET)
        roots = self._in_portions(self._prints(policy).roots, device,
                                  partitions)
        return sync_message.encode_reply(Verdict.COMPARED, tpool.execute(
            differing_slices, partitions, message.roots, roots))

    def _decode_roots(self, body):
        message = sync_message.decode_roots(body)
        return message, self._known_sets.find(message)

    def _prints(self, policy):
        if policy not in self._fingerprints:
            self._fingerprints[policy] = Fingerprints(
                self._diskfile_router[policy], policy, self.logger)
        return self._fingerprints[policy]

    def _in_portions(self, method, device, partitions):
        """
        Call a method with portions of partitions, off the hub, for as long
        as the peer may wait.

        :returns: the dicts that it returns, united
        """
        found = {}
        deadline = time.monotonic() + PATIENCE
        for portion in in_portions(partitions):
            if time.monotonic() > deadline:
                break
            found.update(tpool.execute(method, device, portion, deadline))
        return found

    @contextlib.contextmanager
    def _turn(self, request, most=sync_message.MAX_BYTES):
        """
        Take a message in when its turn has come; with the end of the context
        comes that of another one.

        :param most: bytes that it may have
        :returns: (as a context) its body
        :raises NoTurn: if its turn does not come in time
        """
        length, body = _length(request, most), None
        if length <= SHORT_BODY:
            body = _read_body(request, length, self.client_timeout)
        with self._turns.turn():
            if body is None:
                # Its sender may be slow, and others wait.
                body = _read_body(request, length,
                                  min(self.client_timeout, PATIENCE))
            yield body


def _length(request, most):
    try:
        length = request.message_length()
    except (ValueError, AttributeError) as err:
        raise HTTPBadRequest(request=request, body=str(err))
    if length is None:
        raise HTTPLengthRequired(request=request)
    if length < 0:
        raise HTTPBadRequest(request=request,
                             body='Invalid Content-Length: %d' % length)
    if length > most:
        raise HTTPRequestEntityTooLarge(
            request=request, body='%d bytes, at most %d' % (length, most))
    return length


def _read_body(request, length, timeout):
    try:
        with ChunkReadTimeout(timeout):
            return request.environ['wsgi.input'].read(length)
    except ChunkReadTimeout:
        raise HTTPRequestTimeout(request=request)
