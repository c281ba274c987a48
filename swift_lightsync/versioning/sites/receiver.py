# SPDX-License-Identifier: Apache-2.0
"""
Answers the requests of other sites, in a proxy-server (VERSIONING.md §5).

An offer is answered with the versions that this site lacks; a shipment is
stored, data first. Each request may be repeated. Each answer is signed, except
to a sender that has not proved to be a peer.
"""

import time
from dataclasses import replace

from swift.common.concurrency import GreenPool
from swift.common.exceptions import ChunkReadError
from swift.common.memcached import MemcacheConnectionError
from swift.common.swob import HTTPException, Response, wsgi_to_str
from swift.common.utils import cache_from_env

from swift_lightsync.common.signing import Nonces, SignatureError
from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.clock import ClockAhead
from swift_lightsync.versioning.core.row_data import Kind
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEAD_HEADER,
    HEADER,
    MAX_NONCES,
    WINDOW,
    Claim,
    Signed,
    answer_mac,
)
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.propagator_options import SiteOptions
from swift_lightsync.versioning.sites.received_body import (
    Data,
    Disconnected,
    read_head,
)

#: Versions of an offer that are looked for at the same time.
CONCURRENCY = 8
#: What object servers say to data that they have already.
_STORED_ALREADY = (202, 409)


class Refusal(Exception):
    """
    A request is refused.

    :param status: of the answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def _is_older(entry, changed):
    """Check whether the metadata here are older than another site's."""
    # Those of a null version are the object's of the container itself.
    return changed is not None and not entry.plain and \
        (entry.changed or entry.version.id) < changed


class Receiver:
    """
    Answers other sites' requests.

    :param conf: of the filter, a dict
    :param clock: a ``HybridClock``
    :param helper: ``SiteRequests``
    :param now: returns the wall time in seconds
    """

    def __init__(self, conf, site, clock, logger, helper, now=time.time):
        self.site = site
        self.clock = clock
        self.logger = logger
        self.helper = helper
        self.peers = SiteOptions.from_conf({**conf, 'site': site}).peers()
        self._nonces = Nonces(WINDOW, MAX_NONCES)
        self._now = now

    def handles(self, req):
        """Check whether a request claims to come from another site."""
        return HEADER in req.headers

    def __call__(self, req):
        """Answer a request with a ``Response``; no error passes through."""
        try:
            key, claim, data = self._authentic(req)
        except SignatureError as err:
            self.logger.increment('receiver.refused')
            self.logger.warning('A request between sites is refused: %s', err)
            return self._response(req, 403, {'error': str(err)})
        except (Disconnected, ChunkReadError, OSError) as err:
            return self._response(req, 499, {'error': str(err)})
        status, fields = self._done(req, claim, *data)
        response = self._response(req, status, fields)
        response.headers[ANSWER_HEADER] = answer_mac(
            key, claim.mac, status, response.body)
        return response

    @staticmethod
    def _response(req, status, fields):
        # What is left of a body that nobody reads must not be taken for the
        # next request.
        return Response(request=req, status=status,
                        body=shipping.answer(**fields),
                        content_type='application/json',
                        headers={'Connection': 'close'})

    # Whose it is

    def _authentic(self, req):
        """
        Check that a request comes from a peer and is new.

        :returns: the key, the ``Claim``, and (the head, the ``Data``, its
            length)
        :raises SignatureError: unless it is both
        """
        claim = Claim.parse(req.headers[HEADER])
        peer = self.peers.get(claim.sender)
        if peer is None:
            raise SignatureError('site %s is no peer of %s' % (
                claim.sender, self.site))
        if req.method != 'POST':
            raise SignatureError('the method is %.20s, must be POST' %
                                 req.method)
        stream = req.environ['wsgi.input']
        head, data_length = read_head(
            stream, req.headers.get(HEAD_HEADER, ''), req.content_length)
        signed = Signed(req.method, req.path, claim.sender, self.site,
                        claim.time, claim.nonce, req.content_length, head)
        key = signed.verify(peer.keys, claim, self._now())
        self._remember(req, claim)
        return key, claim, (head, Data(stream, data_length, key, claim.mac),
                            data_length)

    def _remember(self, req, claim):
        """Raise SignatureError if the request was sent before."""
        name = 'site-versions/nonce/%s/%s' % (claim.sender, claim.nonce)
        self._nonces.add(name, self._now())
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

    def _done(self, req, claim, head, data, length):
        """
        Do what a request asks; return a status and the fields of the answer.
        """
        try:
            return self._do(req, shipping.decode(head), data, length)
        except ClockAhead as err:
            self.logger.increment('receiver.ahead.%s' % claim.sender)
            return 409, {'error': str(err)}
        except (SignatureError, ValueError) as err:
            self.logger.warning('Site %s: %s', claim.sender, err)
            return 400, {'error': str(err)}
        except Refusal as err:
            return err.status, {'error': str(err)}
        except RowsUnavailable as err:
            return 503, {'error': 'rows: %s' % err}
        except (Disconnected, ChunkReadError, OSError) as err:
            return 499, {'error': str(err)}
        except HTTPException as err:
            return err.status_int, {'error': '%s %s' % (
                err.status, err.body.decode('utf8', 'replace')[:200])}

    def _do(self, req, what, data, length):
        account, container = map(wsgi_to_str, req.split_path(3, 3)[1:])
        path = (req.environ, account, container)
        if isinstance(what, tuple):
            data.verify()
            return 200, {'lacking': self._lacking(path, what)}
        self._check_stamps(what)
        if what.length != length:
            raise ValueError('a shipment: length is %d, but %d bytes of data '
                             'follow' % (what.length, length))
        strategy = self.helper._strategy(*path, create=True)
        # Where the data lies is each site's own matter.
        entry = replace(what.entry, plain=False)
        # What is done to it here is done after it was made.
        strategy.follow(entry, *filter(None, [entry.purged]))
        try:
            self._store(path, strategy, replace(what, entry=entry), data)
        finally:
            self.helper._forget_latest(*path, entry.object)
        self.logger.increment('receiver.stored.%s' % entry.kind.value)
        return 201, {}

    def _check_stamps(self, shipment):
        """Raise ClockAhead if no site may have given a stamp yet."""
        version = shipment.entry.version
        stamps = [version.id, shipment.entry.purged, shipment.entry.changed]
        stamps += [stamp for _, stamp in version.vector]
        for stamp in filter(None, stamps):
            self.clock.check(stamp, self._now())

    def _lacking(self, path, offered):
        strategy = self.helper._strategy(*path, create=False)
        if strategy is None:
            return list(range(len(offered)))
        pool = GreenPool(CONCURRENCY)
        lacks = pool.imap(
            lambda each: self._lacks(strategy, each), offered)
        return [place for place, lacks_it in enumerate(lacks) if lacks_it]

    @staticmethod
    def _lacks(strategy, offered):
        entry = strategy.get(offered.object, offered.id)
        if entry is None:
            return True
        if entry.purged or offered.kind is Kind.PURGE:
            return not entry.purged
        return _is_older(entry, offered.changed)

    def _store(self, path, strategy, shipment, data):
        entry = shipment.entry
        stored = strategy.get(entry.object, entry.version.id)
        if entry.kind is not Kind.DATA:
            data.verify()
            # First: a sender asks no more when the marker is there.
            self._drop_data(path, strategy, stored, entry)
            strategy.apply(entry)
        elif stored is None:
            self._put(path, strategy, shipment, data)
            if entry.changed:
                self._post(path, strategy, shipment)
            strategy.apply(entry)
        elif not stored.purged and _is_older(stored, entry.changed):
            self._post(path, strategy, shipment)
            strategy.amend(stored, entry.content_type, entry.changed)

    def _post(self, path, strategy, shipment):
        entry = shipment.entry
        self._checked(self.helper._post_data(
            *path, strategy.data_name(entry), entry, entry.changed,
            dict(shipment.headers)))

    def _put(self, path, strategy, shipment, data):
        headers = {**dict(shipment.headers),
                   'content-length': str(shipment.length)}
        name = strategy.data_name(shipment.entry)
        response = self.helper._put_data(*path, name, shipment.entry, data,
                                         headers)
        self._checked(response)
        if response.status_int not in _STORED_ALREADY:
            data.verify()

    def _drop_data(self, path, strategy, stored, entry):
        # Without a row there may be data nevertheless: its row follows it,
        # perhaps now.
        if entry.purged and (stored is None or stored.kind is Kind.DATA and
                             not stored.plain):
            self.helper._delete_data(*path, strategy.data_name(
                stored or entry))

    @staticmethod
    def _checked(response):
        """Raise Refusal unless the data is stored or changed as asked."""
        status = response.status_int
        if not 200 <= status < 300 and status not in _STORED_ALREADY:
            raise Refusal(status if status >= 500 else 409,
                          'the data was not stored: %s' % response.status)
