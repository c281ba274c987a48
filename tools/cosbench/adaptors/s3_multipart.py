# SPDX-License-Identifier: Apache-2.0
"""Multipart uploads of S3: begin, parts, completion; an end if one fails."""

from contextlib import suppress

from cosbench.adaptors.base import OperationError, Transfer
from cosbench.adaptors.core import s3_bodies
from cosbench.adaptors.http_auth import Payload
from cosbench.adaptors.parts import Answer, put_all


async def upload(storage, container, name, bodies, parts, note, headers):
    """Write an object by a multipart upload.

    :param storage: an ``S3Storage``; the rest as of ``Storage.upload``
    :param headers: pairs, of the object
    :returns: a ``Transfer``
    """
    answer = Answer()
    await storage.request('POST', container, name, [('uploads', '')],
                          sink=answer, headers=headers)
    upload_id = s3_bodies.upload_of(answer.data)

    async def put(number, body):
        response = await storage.request(
            'PUT', container, name, [('partNumber', str(number)),
                                     ('uploadId', upload_id)], body=body)
        etag = response.headers.get(b'etag')
        if etag is None:
            raise OperationError('protocol', 'a part without an ETag')
        return response.first_byte, etag.decode('latin1')

    try:
        etags = await put_all(bodies, parts.parallel, put, note)
        answer = Answer()
        response = await storage.request(
            'POST', container, name, [('uploadId', upload_id)], (),
            Payload(s3_bodies.completion(etags)), answer)
        # A completion that fails late has said 200 before.
        s3_bodies.check_no_error(answer.data)
    except OperationError:
        with suppress(OperationError):
            await storage.request('DELETE', container, name,
                                  [('uploadId', upload_id)])
        raise
    return Transfer(response.first_byte, sum(each.size for each in bodies))
