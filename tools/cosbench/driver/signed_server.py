# SPDX-License-Identifier: Apache-2.0
"""A driver's port: refuses what is not signed, too large or malformed.

Each answer is JSON and signed. What is wrong with a request that is signed
is said; one that is not signed learns only that.
"""

import asyncio
import json
import logging
import time

from aiohttp import web

from cosbench.driver.signature import NONCE, SIGNATURE, answer_signature
from cosbench.errors import ConfigError, WorkloadError
from cosbench.tasks import within
from swift_lightsync.common.records import RecordError
from swift_lightsync.common.signing import SignatureError

#: Bytes: a document of 1 MiB, each byte of it escaped, and the rest.
MAX_BODY = 7 * 2 ** 20
#: Seconds in which it must be there.
BODY_TIMEOUT = 30.0
log = logging.getLogger('cosbench.driver')


#: Of applications: bodies are taken as they come, and so is their size.
AS_SENT = {'auto_decompress': False}
#: Of a body that is not all there, or no HTTP.
BROKEN = (ConnectionError, web.RequestPayloadError)


class Failure(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def check_encoding(request):
    """Refuse a request whose body is encoded.

    :raises ConfigError: if its body is not to be taken as it is
    """
    encoding = request.headers.get('Content-Encoding', 'identity')
    if encoding.lower() != 'identity':
        raise ConfigError.of('Content-Encoding', encoding, 'absent')


async def received(reading, seconds):
    """Wait for the body of a request.

    :param reading: ``request.read()`` or ``request.post()``
    :param seconds: in which it must be there
    :raises Failure: if it is not, or not all of it
    """
    try:
        return await within(seconds, reading)
    except asyncio.TimeoutError:
        raise Failure(408, 'the body did not come in %d s'
                      % seconds) from None
    except BROKEN:
        raise Failure(400, 'the body cannot be read') from None


def guarded(gate, handler):
    """Return a handler of requests that must be signed.

    :param gate: a ``Gate``
    :param handler: a coroutine function of (request, parsed body or None)
        that returns (status, dict); raises Failure, ConfigError,
        RecordError
    :returns: an aiohttp handler
    """
    async def handle(request):
        try:
            body = await _body(gate, request)
            status, found = await handler(request, body)
        except SignatureError as err:
            log.warning('refused: %s %.100r from %s: %s', request.method,
                        request.path, request.remote, err)
            status, found = 401, {'error': str(err)}
        except Failure as err:
            status, found = err.status, {'error': str(err)}
        except (ConfigError, RecordError, WorkloadError) as err:
            status, found = 400, {'error': str(err)}
        return _answer(gate.secret, request, status, found)
    return handle


async def _body(gate, request):
    gate.check_head(request.method, request.raw_path, request.headers,
                    time.time())
    check_encoding(request)
    if (request.content_length or 0) > MAX_BODY:
        raise Failure(413, 'the body is larger than %d bytes' % MAX_BODY)
    try:
        body = await received(request.read(), BODY_TIMEOUT)
    except web.HTTPRequestEntityTooLarge:
        raise Failure(413, 'the body is larger than %d bytes'
                      % MAX_BODY) from None
    gate.check_body(request.headers, body)
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Failure(400, 'the body is not JSON') from None


def _answer(secret, request, status, found):
    body = json.dumps(found).encode()
    signature = answer_signature(
        secret, status, request.headers.get(NONCE, ''), body)
    return web.Response(
        status=status, body=body, headers={
            'Content-Type': 'application/json', SIGNATURE: signature})


def application(gate, routes):
    """Return an application of signed requests.

    :param routes: (method, path, handler) each
    :returns: an aiohttp application that has these and nothing else
    """
    app = web.Application(client_max_size=MAX_BODY,
                          handler_args=AS_SENT)
    for method, path, handler in routes:
        app.router.add_route(method, path, guarded(gate, handler))

    async def unknown(request, body):
        raise Failure(404, 'there is no %.100s' % request.path)
    app.router.add_route('*', '/{tail:.*}', guarded(gate, unknown))
    return app
