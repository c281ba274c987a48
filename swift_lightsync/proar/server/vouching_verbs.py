# SPDX-License-Identifier: Apache-2.0
"""The object-server's part in vouching: the verb PROAR, and reads that a
primary role refuses. PROTOCOL.md, "Vouching".
"""

import copy
from functools import lru_cache, partial

from swift.common.concurrency import tpool
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.request_helpers import get_name_and_placement
from swift.common.storage_policy import POLICIES, REPL_POLICY
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPNoContent,
    HTTPServiceUnavailable,
    Response,
)
from swift.common.utils import hash_path, public
from swift.obj.server import ObjectController

from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.common.records import RecordError
from swift_lightsync.common.request_body import length_of, number_of, read_body
from swift_lightsync.proar.core.epochs import is_newer
from swift_lightsync.proar.core.oplog import NO_SLOT
from swift_lightsync.proar.core.ring_history import (
    RingHistory,
    unknown_roles,
    versions_of,
)
from swift_lightsync.proar.names import (
    ASK_PATH,
    BEHIND,
    DOUBTERS_HEADER,
    MISSED_PATH,
    REFUSED_HEADER,
    RING,
    RING_HEADER,
    ROLES_HEADER,
    SLOT_HEADER,
)
from swift_lightsync.proar.replaced_files import settled, tell_replaced
from swift_lightsync.proar.server.absence import doubters_for, is_unheard_of
from swift_lightsync.proar.vouching import answers
from swift_lightsync.proar.vouching.places import (
    epoch_of,
    ring_of,
    rows_of,
    version_of,
)
from swift_lightsync.proar.vouching.standings import Standings
from swift_lightsync.proar.vouching.uses import Uses
from swift_lightsync.proar.wire.messages import MAX_BYTES, Ask, Missed

#: The paths of PROAR that are answered here.
QUESTIONS = '/' + ASK_PATH, '/' + MISSED_PATH
MAX_PARTITION = (1 << 32) - 1
#: Devices whose standing is kept in memory.
REMEMBERED = 1024
#: Seconds between two marks for a converger, while reads wait for it.
SOON = 0.25


class VouchingVerbs(ObjectController):
    """Makes an object-server's controller vouch, and heed who vouches."""

    #: whether this copy of the controller serves a proxy with primary roles
    _tells_replaced = False

    def setup(self, conf):
        """Set up the stock controller, and what vouching needs."""
        super().setup(conf)
        self._swift_dir = conf.get('swift_dir', '/etc/swift')
        self._recon_cache_path = conf.get('recon_cache_path',
                                          DEFAULT_RECON_CACHE_PATH)
        self._history = RingHistory()
        self._quiet = QuietLogger(self.logger)
        self._standings = lru_cache(REMEMBERED)(Standings)
        self._uses = lru_cache(REMEMBERED)(Uses)

    def _ring(self, policy):
        return ring_of(policy, self._swift_dir)

    def get_diskfile(self, *args, **kwargs):
        """Return the stock diskfile; it may tell what is replaced."""
        disk_file = super().get_diskfile(*args, **kwargs)
        return tell_replaced(disk_file) if self._tells_replaced else disk_file

    def _telling(self):
        """Return a copy of the controller whose diskfiles tell it."""
        telling = copy.copy(self)
        telling._tells_replaced = True
        return telling

    def answer_question(self, request):
        """Answer what a peer asks, or note that a device misses a write.

        :param request: PROAR of one of QUESTIONS
        :returns: 200 with an answer, or 204; 400 for what is no message, 408
            for a body that does not come in time, 411 and 413 for a length
            that is missing or too large, 507 if the device is not mounted or
            cannot note it
        """
        take = self._take_news if request.path == '/' + MISSED_PATH else \
            self._take_question
        try:
            return take(request, read_body(
                request, length_of(request, MAX_BYTES), self.client_timeout))
        except RecordError as err:
            return HTTPBadRequest(request=request, body=str(err))

    def _take_question(self, request, body):
        ask = Ask.parse(body, MAX_BYTES)
        policy = self._policy(request, ask.policy)
        ring = self._ring(policy)
        if ring is None:
            return HTTPServiceUnavailable(
                request=request, body='There is no ring of policy %s' %
                policy.name)
        found = tpool.execute(answers.answer, ask, policy, ring,
                              self._diskfile_router[policy], self._quiet,
                              self._recon_cache_path, self._standings)
        return Response(request=request, body=found.encode(),
                        content_type='application/json')

    def _take_news(self, request, body):
        news = Missed.parse(body, MAX_BYTES)
        policy = self._policy(request, news.policy)
        path = self._diskfile_router[policy].get_dev_path(news.device)
        if not path:
            return HTTPInsufficientStorage(drive=news.device,
                                           request=request)
        try:
            tpool.execute(self._standings(path, policy).miss,
                          (news.partition, news.slot))
        except OSError as err:
            # Who tells of the write waits until its promise has ended.
            self._quiet.error_of(
                (path, err.errno), 'Unable to note what %s misses: %s', path,
                err)
            return HTTPInsufficientStorage(drive=news.device,
                                           request=request)
        return HTTPNoContent(request=request)

    def _policy(self, request, index):
        policy = POLICIES.get_by_index(index)
        if policy is None or policy.policy_type != REPL_POLICY:
            raise HTTPBadRequest(
                request=request, body='policy: %d, must be the index of a '
                'replicated policy' % index)
        return policy

    # Reads

    @public
    def GET(self, request):
        """Handle a GET as stock Swift, unless a primary role is behind."""
        return self._answered('GET', request)

    @public
    def HEAD(self, request):
        """Handle a HEAD as stock Swift, unless a primary role is behind."""
        return self._answered('HEAD', request)

    def _answered(self, verb, request):
        """Answer a read, and name the roles that the proxy does not know.

        :param verb: its name
        :raises HTTPException: 503, if it is asked of a primary role alone,
            which may miss a write
        """
        if RING_HEADER not in request.headers:
            return getattr(super(), verb)(request)
        device, partition, account, container, obj, policy = \
            get_name_and_placement(request, 5, 5, True)
        path = self._diskfile_router[policy].get_dev_path(device)
        if not path:
            return getattr(super(), verb)(request)  # 507, by stock Swift
        standing = self._standings(path, policy).read()
        path_hash = hash_path(account, container, obj, raw_digest=True)
        ring = self._ring(policy)
        headers = self._other_roles(request, policy, ring, path, path_hash,
                                    standing)
        if SLOT_HEADER in request.headers:
            self._refuse_behind(request, path, device, policy, (
                number_of(request, 'partition', partition, MAX_PARTITION),
                number_of(request, SLOT_HEADER, request.headers[SLOT_HEADER],
                          NO_SLOT - 1)), standing, headers)
        answer = getattr(super(VouchingVerbs, self._telling()), verb)
        response = settled(answer, request)
        if is_unheard_of(response):
            found = doubters_for(
                request, self._diskfile_router[policy], path, policy,
                ring, path_hash, self._standings(path, policy),
                partial(self._have_asked, path, policy))
            if found is not None:
                # The proxy asks once more: it sees what comes here meanwhile.
                headers[DOUBTERS_HEADER] = ','.join(map(str, found))
        response.headers.update(headers)
        return response

    def _other_roles(self, request, policy, ring, path, path_hash, standing):
        """Return the header that names roles of rings unknown to a proxy."""
        if ring is None:
            return {}
        versions = versions_of(request.headers[RING_HEADER])
        own = version_of(ring, policy)
        if versions == {own} and standing is not None and standing.agrees(
                own) and self._history.is_known(int(policy), own):
            return {}
        if any(is_newer(each, own) for each in versions) and \
                ring.has_changed():
            ring._reload(force=True)
        epochs = self._history.epochs(int(policy), epoch_of(ring, policy))
        if standing is not None and standing.agrees(
                version_of(ring, policy)):
            del epochs[1:]
        other = unknown_roles(epochs, versions, path_hash)
        if not other:
            return {}
        self._have_asked(path, policy)
        return {ROLES_HEADER: other.header()}

    def _have_asked(self, path, policy, peers=None, seconds=SOON):
        """Have the converger ask peers whose word is needed; None: all.

        :param seconds: for which its having been told before is good enough
        """
        uses = self._uses(path, policy)
        try:
            if peers is None:
                uses.mark_all(seconds)
            else:
                uses.mark(peers, seconds)
        except OSError as err:
            # Reads ask all until they are asked for another reason.
            self.logger.debug('Unable to write %s: %s', uses.path, err)

    def _refuse_behind(self, request, path, device, policy, place, standing,
                       headers):
        obstacle = self._obstacle(policy, path, place, standing) or \
            headers and 'the rings differ'
        if obstacle:
            self.logger.increment('proar.refused.behind.%s' % device)
            raise HTTPServiceUnavailable(
                request=request, headers=dict(
                    headers, **{REFUSED_HEADER: BEHIND}),
                body='Others have to be asked: %s' % obstacle)

    def _obstacle(self, policy, path, place, standing):
        ring = self._ring(policy)
        if ring is None:
            return 'this server has no ring'
        if standing is None:
            self._have_asked(path, policy)
            return 'nobody has been asked'
        rows = rows_of(ring, policy, place[0])
        if rows.ids[place[1]:place[1] + 1] != (standing.device,):
            return 'it is not the primary role'
        peers = rows.others(standing.device)
        obstacle = self._standings(path, policy).obstacle(
            standing, version_of(ring, policy), place, peers)
        self._have_asked(path, policy, peers,
                         SOON if obstacle else standing.seconds)
        return obstacle

    # Writes

    def _refuse_ring(self, request, path, policy, ring, path_hash, standing,
                     is_alone):
        """Refuse a write that is not sent to all who have a role by a ring.

        :param is_alone: whether it is sent to the primary role alone
        :raises HTTPException: 503
        """
        if RING_HEADER not in request.headers or ring is None:
            return
        headers = self._other_roles(request, policy, ring, path, path_hash,
                                    standing)
        version = version_of(ring, policy)
        if headers or is_alone and not (
                standing and standing.may_take_alone(version)):
            self.logger.increment('proar.refused.ring')
            raise HTTPServiceUnavailable(
                request=request, headers=dict(
                    headers, **{REFUSED_HEADER: RING}),
                body='%s: %s, but the ring has version %d here, and others '
                'may have another' % (
                    RING_HEADER, request.headers[RING_HEADER], version))
