# SPDX-License-Identifier: Apache-2.0
"""The verb PROAR, and its push: a server takes many objects with one request.

``PROAR /<device>/push`` of the replication port. Each change of each object
is made by Swift's own PUT, POST or DELETE, with the object's own X-Timestamp.
PROTOCOL.md, "A push of many".
"""

from urllib.parse import quote

from swift.common.base_storage_server import timing_stats
from swift.common.concurrency import GreenPool, Semaphore, Timeout
from swift.common.constraints import valid_timestamp
from swift.common.exceptions import DiskFileCollision
from swift.common.header_key_dict import HeaderKeyDict
from swift.common.http import HTTP_CONFLICT, HTTP_NOT_FOUND, is_server_error
from swift.common.request_helpers import get_name_and_placement
from swift.common.swob import (
    HTTPAccepted,
    HTTPBadRequest,
    HTTPException,
    HTTPForbidden,
    HTTPInsufficientStorage,
    HTTPInternalServerError,
    HTTPServiceUnavailable,
    Request,
    Response,
)
from swift.common.utils import non_negative_int, public, replication
from swift.obj.server import get_obj_name_and_placement

from swift_lightsync.common.admission import Admission, NotAdmitted
from swift_lightsync.common.options import read_option
from swift_lightsync.common.records import RecordError
from swift_lightsync.common.request_body import length_of, read_body
from swift_lightsync.proar.core.push_message import (
    MAX_BODY,
    MAX_BYTES,
    Answer,
    decode_push,
    encode_answers,
)
from swift_lightsync.proar.core.row import Row
from swift_lightsync.proar.server.vouching_verbs import (
    QUESTIONS,
    VouchingVerbs,
)

PUSH = 'push'
#: Pushes that are taken at the same time, as many as Swift's SSYNCs ...
DEFAULT_CONCURRENCY = 4
#: ... and objects of each: their flushes go side by side.
AT_ONCE = 8
#: seconds that a push waits to be admitted
PATIENCE = 5.0


class PushVerb(VouchingVerbs):
    """Makes an object-server's controller answer PROAR."""

    def setup(self, conf):
        """Set up the stock controller, and what the verb needs."""
        super().setup(conf)
        self._pushes = Admission(
            read_option(conf, 'replication_concurrency', DEFAULT_CONCURRENCY,
                        lambda value: non_negative_int(
                            value or DEFAULT_CONCURRENCY)),
            PATIENCE, Semaphore,
            'pushes are being taken (replication_concurrency)')

    @public
    @replication
    @timing_stats(sample_rate=0.1)
    def PROAR(self, request):
        """Take small objects from a converger, or what vouching needs.

        :param request: its path names the device, its body the objects; or
            the path is one of vouching
        :returns: 200 with an answer for each object; 400 for what is no push,
            408 for a body that does not come in time, 411 and 413 for a
            length that is missing or too large, 503 if too many others are
            being taken, 507 if the device is not mounted
        """
        if request.path in QUESTIONS:
            return self.answer_question(request)
        device, *what, policy = get_name_and_placement(request, 1, 3, True)
        if not self._diskfile_router[policy].get_dev_path(device):
            return HTTPInsufficientStorage(drive=device, request=request)
        if what != [PUSH, None]:
            return HTTPBadRequest(
                request=request, body='PROAR of %s, must be of /%s/%s' % (
                    request.path, device, PUSH))
        length = length_of(request, MAX_BYTES)
        try:
            with self._pushes.admitted():
                objects = decode_push(read_body(
                    request, length, self.client_timeout))
                answers = self._take_all(request, device, policy, objects)
        except NotAdmitted as err:
            return HTTPServiceUnavailable(request=request, body=str(err))
        except RecordError as err:
            return HTTPBadRequest(request=request, body=str(err))
        return Response(request=request, body=encode_answers(answers),
                        content_type='application/json')

    def _take_all(self, request, device, policy, objects):
        """Return Answers to all objects, those of a disk that fails to all
        that come after: a converger waits then, whatever the rest would give.
        """
        broken: list[Answer] = []

        def take(sent):
            if broken:
                return broken
            answers = self._take(request, device, policy, sent)
            if is_server_error(answers[-1].status):
                broken[:] = answers[-1:]
            return answers
        return list(GreenPool(AT_ONCE).imap(take, objects))

    def _take(self, request, device, policy, sent):
        """Make the changes of an object; return an Answer to each tried."""
        path = quote('/%s/%d%s' % (device, sent.partition, sent.path))
        answers, place = [], 0
        for change in sent.changes:
            body = sent.body[place:place + change.length]
            place += change.length
            made = self._make(Request.blank(path, {
                'REQUEST_METHOD': change.method,
                'REMOTE_ADDR': request.remote_addr or ''}, headers={
                    **change.headers, 'X-Backend-Replication': 'true',
                    'X-Backend-Storage-Policy-Index': str(int(policy)),
                    'Content-Length': str(change.length)}, body=body))
            answers.append(Answer(
                made.status_int, made.headers.get('X-Backend-Timestamp', ''),
                '' if made.status_int // 100 == 2 else '%s %s' % (
                    made.status, made.body[:200].decode('utf8', 'replace'))))
            if made.status_int // 100 != 2 and made.status_int not in (
                    HTTP_CONFLICT, HTTP_NOT_FOUND):
                break
        return answers

    def _make(self, request):
        """Return the answer to one change, as Swift's server gives it."""
        try:
            if request.method == 'ROW':
                return self._keep_row(request)
            return getattr(self, request.method)(request)
        except HTTPException as answer:
            return answer
        except DiskFileCollision:
            return HTTPForbidden(request=request)
        except (Exception, Timeout) as err:
            # What ails a disk ails all objects of a push.
            self._quiet.exception_of(
                ('push', request.path.split('/')[1], type(err)),
                'ERROR __call__ error with %s %s', request.method,
                request.path)
            return HTTPInternalServerError(request=request)

    def _keep_row(self, request):
        """Keep a container update, which the object-updater repeats."""
        device, _, account, container, obj, policy = \
            get_obj_name_and_placement(request)
        timestamp = valid_timestamp(request)
        try:
            row = Row.parse(request.body, MAX_BODY, 'row')
        except RecordError as err:
            raise HTTPBadRequest(request=request, body=str(err))
        if (row.account, row.container, row.obj) != (account, container, obj):
            raise HTTPBadRequest(request=request, body='row: of %s, not %s' % (
                row.path, request.path))
        self._diskfile_router[policy].pickle_async_update(
            device, account, container, obj, {
                **row.data(), 'headers': HeaderKeyDict(row.headers)},
            timestamp, policy)
        return HTTPAccepted(request=request)
