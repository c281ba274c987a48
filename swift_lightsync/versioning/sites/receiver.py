# SPDX-License-Identifier: Apache-2.0
"""Answers the requests of other sites, in a proxy-server (VERSIONING.md §5).

An offer is answered with the versions that this site lacks; of a pack each
shipment is stored, data first. Each request may be repeated. Each answer is
signed, except to a sender that has not proved to be a peer.
"""

import time
from hashlib import sha256

from swift.common.exceptions import ChunkReadError
from swift.common.memcached import MemcacheConnectionError
from swift.common.swob import Response
from swift.common.utils import cache_from_env

from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.common.signing import Nonces, SignatureError
from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.comparing import Comparison
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEADER,
    MAX_NONCES,
    METHOD,
    PATH,
    TRAILER,
    WINDOW,
    Claim,
    answer_mac,
    check_trailer,
)
from swift_lightsync.versioning.sites.applying import (
    Disconnected,
    Refusal,
    result_of,
)
from swift_lightsync.versioning.sites.arrivals import Arrivals
from swift_lightsync.versioning.sites.compare_task import told_differences
from swift_lightsync.versioning.sites.options import SiteOptions
from swift_lightsync.versioning.sites.shared import Infos, Workers


def read_exactly(stream, size):
    """Read a number of bytes.

    :raises Disconnected: if there are fewer
    """
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise Disconnected('the body ends %d bytes too early' % size)
        parts.append(part)
        size -= len(part)
    return b''.join(parts)


def data_length(claim, whole):
    """Return the length of the data of a request; nothing of its body is read.

    :param whole: the length of the body, a number or None
    :raises SignatureError: if the lengths cannot be right
    """
    least = claim.length + TRAILER
    if claim.length > shipping.MAX_HEAD or whole is None or whole < least:
        raise SignatureError(
            'the length of the head is %d, must be 0 to %d; the length of the '
            'body is %s, must be at least %d' % (
                claim.length, shipping.MAX_HEAD, whole, least))
    return whole - least


def read_head(stream, claim):
    """Read the head, which comes before the data.

    :param stream: of the request
    :raises SignatureError: if the head is not what was signed
    :raises Disconnected: if the body is too short
    """
    head = read_exactly(stream, claim.length)
    claim.check_head(head)
    return head


class Data:
    """The data of a request, to be read like a file. The last chunk is given
    only after the trailer has proved that the sender signed all of the data,
    so that no server takes anything else for complete data.

    :param stream: of the request, after the head
    :param length: bytes of data
    :param key: of the sender
    :param mac: of the request
    """

    def __init__(self, stream, length, key, mac):
        self.length = length
        #: Whether nothing is left of the request.
        self.is_read = False
        self._stream = stream
        self._left = length
        self._key = key
        self._mac = mac
        self._digest = sha256()

    def read(self, size=-1):
        """Read some of the data.

        :param size: bytes, at most; negative or None: all that is left
        :returns: bytes; none at the end
        :raises SignatureError: if the data is not what was signed
        :raises Disconnected: if it ends too early
        """
        if self._left and size:
            most = self._left if size is None or size < 0 else size
            chunk = self._stream.read(min(most, self._left))
            if not chunk:
                raise Disconnected('the data ends %d bytes too early' %
                                   self._left)
            self._left -= len(chunk)
            self._digest.update(chunk)
            if not self._left:
                self.verify()
            return chunk
        if not self._left:
            self.verify()
        return b''

    def verify(self):
        """Raise SignatureError unless all data was read and is as signed."""
        if self.is_read:
            return
        if self._left:
            raise SignatureError('%d bytes of data were not read' %
                                 self._left)
        found = read_exactly(self._stream, TRAILER)
        check_trailer(self._key, self._mac, self._digest.hexdigest(), found)
        self.is_read = True

    def __iter__(self):
        return iter(lambda: self.read(1 << 16), b'')


#: Requests that one process answers at the same time, and bytes of these that
#: it holds in memory.
MAX_REQUESTS = 64
MAX_HELD = 1 << 26


class Receiver:
    """Answers other sites' requests.

    :param conf: of the filter, a dict
    :param clock: a ``SiteClock``
    :param helper: ``SiteRequests``
    :param now: returns the wall time in seconds
    """

    def __init__(self, conf, site, clock, logger, helper, now=time.time):
        self.site = site
        self.clock = clock
        self.logger = QuietLogger(logger)
        self.peers = SiteOptions.from_conf({**conf, 'site': site}).peers()
        self._nonces = Nonces(WINDOW, MAX_NONCES)
        self.now = now
        self._under_way = self._held = 0
        self.workers = Workers()
        self.infos = Infos(helper)

    def handles(self, req):
        """Check whether a request claims to come from another site."""
        return HEADER in req.headers

    def __call__(self, req):
        """Answer a request with a ``Response``; no error passes through."""
        try:
            key, claim, head, data = self._authentic(req)
        except SignatureError as err:
            self.logger.increment('receiver.refused')
            # Anybody can send such: neither the log nor the causes may grow.
            self.logger.warning_of(
                'refused', 'A request between sites is refused: %s', err)
            return self._response(req, 403, shipping.error(str(err)))
        except (Disconnected, ChunkReadError, OSError) as err:
            return self._response(req, 499, shipping.error(str(err)))
        # What is longer is not held.
        held = len(head) + min(data.length, shipping.MAX_PACK)
        self._under_way += 1
        self._held += held
        try:
            status, body = self._done(req, claim, head, data)
        finally:
            self._under_way -= 1
            self._held -= held
        response = self._response(req, status, body, data.is_read)
        response.headers[ANSWER_HEADER] = answer_mac(
            key, claim.mac, status, response.body)
        return response

    @staticmethod
    def _response(req, status, body, keep=False):
        # What is left of a body that nobody reads must not be taken for the
        # next request.
        if status == shipping.LATER:
            status = '%d Too Many Requests' % status
        return Response(request=req, status=status, body=body,
                        content_type='application/json',
                        headers={} if keep else {'Connection': 'close'})

    # Whose it is

    def _authentic(self, req):
        """Check that a request comes from a peer and is new.

        :returns: the key, the ``Claim``, the head, the ``Data``
        :raises SignatureError: unless it is both
        """
        claim = Claim.parse(req.headers[HEADER])
        peer = self.peers.get(claim.sender)
        if peer is None:
            raise SignatureError('site %s is no peer of %s' % (
                claim.sender, self.site))
        if (req.method, req.path) != (METHOD, PATH):
            raise SignatureError('the request is %.20s %.200s, must be %s %s' %
                                 (req.method, req.path, METHOD, PATH))
        length = data_length(claim, req.content_length)
        key = claim.verify(peer.keys, self.site, req.content_length,
                           self.now())
        # Of its body nothing was read before.
        stream = req.environ['wsgi.input']
        head = read_head(stream, claim)
        self._remember(req, claim)
        return key, claim, head, Data(stream, length, key, claim.mac)

    def _remember(self, req, claim):
        """Raise SignatureError if the request was sent before."""
        name = 'site-versions/nonce/%s/%s' % (claim.sender, claim.nonce)
        self._nonces.add(name, self.now())
        memcache = cache_from_env(req.environ, True)
        if memcache is None:
            return
        try:
            times = memcache.incr(name, time=2 * WINDOW)
        except MemcacheConnectionError:
            # This process remembers it in any case.
            return
        if times > 1:
            raise SignatureError('the request has been sent before, to '
                                 'another process')

    # What it wants

    def _done(self, req, claim, head, data):
        """Do what a request asks; return the status and body of the answer."""
        try:
            if self._under_way > MAX_REQUESTS or self._held > MAX_HELD:
                raise Refusal(shipping.LATER, 'there are %d other requests, '
                              'all with %d bytes' % (self._under_way - 1,
                                                     self._held))
            return 200, self._answer(req, claim.sender,
                                     shipping.decode(head), data)
        except Exception as err:
            result = result_of(err)
            if result is None:
                raise
            self.logger.warning('Site %s: %s', claim.sender, err)
            return result.status, shipping.error(result.error)

    def _answer(self, req, sender, what, data):
        arrivals = Arrivals(self, req.environ, sender)
        length = what.length if isinstance(what, shipping.Pack) else 0
        if length != data.length:
            raise ValueError('length is %d, but %d bytes of data follow' % (
                length, data.length))
        if isinstance(what, shipping.Pack):
            return shipping.results(arrivals.store(what, data),
                                    arrivals.seconds)
        data.verify()
        answer = told_differences(self.infos, req.environ, what) \
            if isinstance(what, Comparison) else arrivals.lacking(what)
        return shipping.encoded(answer.to_json())
