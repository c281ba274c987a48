# SPDX-License-Identifier: Apache-2.0
"""The verb LIGHTSYNC: the object-server's side of sync messages.

LightSync §5.2-5.3. ``LIGHTSYNC /<device>/roots`` carries the roots of slices
of a set of partitions; the reply names the slices whose root differs here.
PROTOCOL.md, "The sync message".
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from swift.common.base_storage_server import timing_stats
from swift.common.concurrency import Semaphore, patcher, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.request_helpers import (
    get_name_and_placement,
    split_and_validate_path,
)
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPNoContent,
    HTTPServiceUnavailable,
    Request,
    Response,
)
from swift.common.utils import non_negative_int, public, replication
from swift.obj.server import ObjectController

from swift_lightsync.common.address import parse_endpoint
from swift_lightsync.common.admission import Admission, NotAdmitted
from swift_lightsync.common.options import read_option
from swift_lightsync.common.request_body import length_of, read_body
from swift_lightsync.sync import missing, missing_message
from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core.shared_set import PartitionSetError
from swift_lightsync.sync.device_watch import DeviceWatch
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.journal import Writers
from swift_lightsync.sync.journaling import Journaling
from swift_lightsync.sync.names import (
    MISSING,
    NOTICE,
    PATIENCE_HEADER,
    REHASH,
    ROOTS,
    SENDER_HEADER,
    SUFFIXES,
)
from swift_lightsync.sync.ownership import owned, ownership
from swift_lightsync.sync.patient_reads import (
    PATIENCE,
    PatientReads,
    patience_of,
)
from swift_lightsync.sync.shared_reads import SharedReads
from swift_lightsync.sync.standing_trees import StandingTrees
from swift_lightsync.sync.wire import exchange_message, notice, sync_message
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import Verdict

#: Seconds that a message waits to be admitted.
ADMISSION_PATIENCE = PATIENCE / 2
#: Messages that are answered at the same time, as many as Swift's SSYNCs.
DEFAULT_CONCURRENCY = 4
#: Bytes of a body that any number of messages may have in memory; for longer
#: ones there are as many places as for messages that are answered.
SHORT_BODY = 64 << 10


def _concurrency(value: Any) -> int:
    # As in Swift, an empty value means the default.
    return int(non_negative_int(value or DEFAULT_CONCURRENCY))


class LightSyncVerb(ObjectController):
    """Makes an object-server's controller answer LIGHTSYNC."""

    def setup(self, conf: Mapping[str, Any]) -> None:
        """Set up the stock controller, and what the verb needs."""
        super().setup(conf)
        # Who sends a long body slowly keeps others with long ones waiting,
        # but nobody else.
        self._long_bodies, self._admission = (Admission(
            read_option(conf, 'replication_concurrency',
                        DEFAULT_CONCURRENCY, _concurrency),
            ADMISSION_PATIENCE, Semaphore,
            'messages are being %s (replication_concurrency)' % done)
            for done in ('read', 'answered'))
        # A native lock, since pool threads look sets up.
        lock = patcher.original('threading').Lock
        self._known_sets = KnownSets(lock=lock())
        self._prints = Fingerprints.by_policy(
            self._diskfile_router, self.logger)
        self._swift_dir = conf.get('swift_dir', '/etc/swift')
        self._failures = FailureStore(conf, self.logger)
        self._activity = Activity(conf, self.logger)
        self._reads = PatientReads(self.logger)
        writers = Writers(conf, self.logger)
        Journaling(self._diskfile_router, writers, self.logger)
        self._shared = SharedReads(
            self._reads, self._prints, self._is_mounted, self._activity,
            StandingTrees(DeviceWatch(
                self._diskfile_router[POLICIES.default], writers),
                self._prints, self._activity))

    @public
    @replication
    @timing_stats(sample_rate=0.1)
    def LIGHTSYNC(self, request: Request) -> Response:
        """Answer what a peer asks about partitions of a local device, or take
        a notice.

        :param request: its path names the device, and what is sent, which is
            one of those in ``names``
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
        # Roots are of many devices.
        if what != ROOTS and not self._is_mounted(device):
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
        except NotAdmitted as err:
            return HTTPServiceUnavailable(request=request, body=str(err))
        except DiskFileDeviceUnavailable:
            return HTTPInsufficientStorage(drive=device, request=request)

    def _is_mounted(self, device: str) -> bool:
        return bool(self._diskfile_router[POLICIES.default].get_dev_path(
            device))

    def _hear_of_sender(self, request: Request) -> None:
        sender = parse_endpoint(request.headers.get(SENDER_HEADER) or '')
        if sender and self._failures.has_failed(sender):
            # Off the hub: it locks and writes a file.
            tpool.execute(self._failures.hint, sender)

    def _take_roots(self, request: Request) -> Response:
        self._hear_of_sender(request)
        with self._admitted(request) as body:
            message = tpool.execute(sync_message.decode_roots, body)
            patience = _patience(request)
            owns = ownership(request, self._swift_dir)
            answer = None if owns else self._shared.kept(message, patience)
            if answer is None:
                items = tpool.execute(self._known_sets.find, message)
                answer = (Verdict.UNKNOWN_SET, (), ()) if items is None \
                    else self._shared.answer(items, message.roots, patience,
                                             owns)
            reply = sync_message.encode_reply(*answer)
        return Response(request=request, body=reply,
                        content_type='application/octet-stream')

    def _take_suffixes(self, request: Request) -> Response:
        device, _, policy = get_name_and_placement(request, 2, 2)
        with self._admitted(request) as body:
            hashes, _ = self._reads.in_time(
                self._prints(policy).suffix_hashes, device,
                exchange_message.decode_suffixes(body), _deadline(request))
            reply = exchange_message.encode_suffix_hashes(tpool.execute(
                owned, request, self._swift_dir, int(policy), device, hashes))
        return Response(request=request, body=reply,
                        content_type='application/octet-stream')

    def _take_missing(self, request: Request) -> Response:
        device, _, policy = get_name_and_placement(request, 2, 2)
        with self._admitted(request, missing_message.MAX_OFFER_BYTES) as body:
            offer = tpool.execute(missing_message.decode_offer, body)
            answer = missing.look_up(self, device, policy, offer,
                                     _patience(request))
            # A sender that dies once it has pushed leaves nothing stale.
            tpool.execute(self._prints(policy).invalidate, device,
                          missing.wanted_suffixes(offer, answer))
            reply = missing_message.encode_wanted(answer)
        return Response(request=request, body=reply,
                        content_type='application/octet-stream')

    def _take_rehash(self, request: Request) -> Response:
        device, _, policy = get_name_and_placement(request, 2, 2)
        fingerprints = self._prints(policy)
        with self._admitted(request,
                            exchange_message.MAX_REHASH_BYTES) as body:
            suffixes = exchange_message.decode_rehash(body)
            tpool.execute(fingerprints.invalidate, device, suffixes)
            # Hashing also removes the files that newer ones superseded.
            self._reads.in_time(fingerprints.roots, device, suffixes,
                                _deadline(request))
        return HTTPNoContent(request=request)

    def _take_notice(self, request: Request) -> Response:
        taken = notice.decode(read_body(
            request, length_of(request, notice.MAX_BYTES),
            self.client_timeout))
        tpool.execute(self._failures.report, taken.reporter, taken.failed)
        return HTTPNoContent(request=request)

    @contextlib.contextmanager
    def _admitted(self, request: Request,
                  most: int = sync_message.MAX_BYTES) -> Iterator[bytes]:
        """Take a message in once it is admitted, which lasts for the context.

        :param request: the message
        :param most: bytes that it may have
        :returns: (as a context) its body
        :raises NotAdmitted: if too many others are being answered for too
            long
        """
        length, patience = length_of(request, most), self.client_timeout
        with contextlib.ExitStack() as places:
            if length > SHORT_BODY:
                places.enter_context(self._long_bodies.admitted())
                patience = min(patience, PATIENCE)
            body = read_body(request, length, patience)
            places.enter_context(self._admission.admitted(
                _patience(request) / 2))
            yield body


def _patience(request: Request) -> float:
    """Return for how long to look at partitions for the sender."""
    return patience_of(request.headers.get(PATIENCE_HEADER))


def _deadline(request: Request) -> float:
    return time.monotonic() + _patience(request)
