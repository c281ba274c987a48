# SPDX-License-Identifier: Apache-2.0
"""Large objects of Swift: static (SLO) and dynamic ones (DLO).

The segments of ``NAME`` are ``NAME/parts/UPLOAD/00001`` ... in the same
container, where UPLOAD differs each time: who reads the object as it was is
not disturbed by an upload. What was overwritten leaves its segments there,
as in any Swift, until the object is deleted with its parts.
"""

import uuid
from urllib.parse import quote

from cosbench.adaptors.base import OperationError, Transfer
from cosbench.adaptors.core import swift_bodies
from cosbench.adaptors.http_auth import Payload
from cosbench.adaptors.parts import Answer, put_all
from cosbench.workload.requests import Large

#: Segments that one request lists and deletes.
_PAGE = 1000


async def upload(storage, container, name, bodies, parts, note, headers):
    """Write an object in segments, then what makes one object of them.

    :param storage: a ``SwiftStorage``; the rest as of ``Storage.upload``
    :param headers: pairs, of the manifest
    :returns: a ``Transfer``
    """
    prefix = '%s/parts/%s/' % (name, uuid.uuid4().hex)

    async def put(number, body):
        response = await storage.request(
            'PUT', container, '%s%05d' % (prefix, number), body=body)
        etag = response.headers.get(b'etag')
        if etag is None:
            raise OperationError('protocol', 'a segment without an ETag')
        return response.first_byte, etag.decode('latin1').strip('"')

    etags = await put_all(bodies, parts.parallel, put, note)
    query: list[tuple[str, str]] = []
    manifest = b''
    if parts.large is Large.DLO:
        headers = [*headers, ('x-object-manifest', '%s/%s' % (
            quote(container, safe=''), quote(prefix)))]
    else:
        query = [('multipart-manifest', 'put')]
        manifest = swift_bodies.manifest(container, [
            ('%s%05d' % (prefix, number), etag, body.size)
            for number, (etag, body) in enumerate(zip(etags, bodies), 1)])
    response = await storage.request(
        'PUT', container, name, query, headers, Payload(manifest))
    return Transfer(response.first_byte, sum(each.size for each in bodies))


async def delete_with_parts(storage, container, name):
    """Remove an object, then all segments that any upload of it left.

    :param storage: a ``SwiftStorage``
    :returns: a ``Transfer``
    """
    response = await storage.request('DELETE', container, name, absent=True)
    while True:
        answer = Answer()
        await storage.request(
            'GET', container, '', [
                ('format', 'json'), ('limit', str(_PAGE)),
                ('prefix', '%s/parts/' % name)], sink=answer, absent=True)
        # Of a container that is not there nothing is kept.
        names = swift_bodies.names_of(answer.data)
        if not names:
            return Transfer(response.first_byte, 0)
        await storage.bulk_delete(container, names)
