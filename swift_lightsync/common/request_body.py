# SPDX-License-Identifier: Apache-2.0
"""What a request says: numbers, and a body that is read as a whole."""


from swift.common.exceptions import ChunkReadTimeout
from swift.common.swob import (
    HTTPBadRequest,
    HTTPLengthRequired,
    HTTPRequestEntityTooLarge,
    HTTPRequestTimeout,
    Request,
)


def length_of(request: Request, most: int) -> int:
    """Return how long the body of a request is.

    :param request: a request
    :param most: bytes that it may have
    :returns: bytes
    :raises HTTPException: 400, 411 or 413 if it does not say, or too many
    """
    try:
        length: int | None = request.message_length()
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


def read_body(request: Request, length: int, timeout: float) -> bytes:
    """Read the body of a request.

    :param length: what :func:`length_of` has returned
    :param timeout: seconds in which it has to come
    :raises HTTPException: 408 if it does not
    """
    try:
        with ChunkReadTimeout(timeout):
            body: bytes = request.environ['wsgi.input'].read(length)
            return body
    except ChunkReadTimeout:
        raise HTTPRequestTimeout(request=request)


def number_of(request: Request, name: str, text: str, most: int) -> int:
    """Return a number that a request says, 0 to most.

    :param name: what it is called
    :param text: what the request says
    :raises HTTPException: 400 if the text is no such number
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 10
            and int(text) <= most):
        raise HTTPBadRequest(
            request=request, body='%s: %.80s, must be a whole number, 0 to %d'
            % (name, text, most))
    return int(text)
