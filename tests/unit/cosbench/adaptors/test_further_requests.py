# SPDX-License-Identifier: Apache-2.0
"""Parts, versions, ranges, metadata: what goes over the wire, by both APIs."""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import unquote

from cosbench.adaptors.base import OperationError, Storage, Want
from cosbench.adaptors.content import Body
from cosbench.adaptors.core import s3_bodies, swift_bodies
from cosbench.workload.requests import Large, Parts
from tests.unit.cosbench.adaptors.servers import (
    LoopsCase,
    Recorder,
    answer,
    in_use,
    made,
)
from tests.unit.cosbench.adaptors.test_s3 import signed_by_botocore

CONFIGS = {
    'swift': 'token=t;storage_url=%s/v1/a',
    's3': 'accesskey=AK;secretkey=S=K;path_style_access=true;endpoint=%s'}
#: Headers that are signed where they are there.
SIGNED = {'content-md5', 'content-type', 'range', 'x-amz-copy-source',
          'x-amz-meta-a', 'x-amz-metadata-directive'}
BODIES = [Body(3, seed=1), Body(3, seed=2), Body(2, seed=3)]


@asynccontextmanager
async def opened(kind, respond):
    async with Recorder(respond).running() as server:
        async with in_use(made(kind, CONFIGS[kind] % server.url)) as found:
            yield server, found


def lines(server, prefix='/v1/a'):
    return ['%s %s' % (each.method, unquote(each.target.removeprefix(prefix)))
            for each in server.requests]


class Notes(list):
    """What is noted of parts: (bytes, kind of error)."""

    def __call__(self, started, transfer, error):
        assert transfer is None or started <= transfer.first_byte
        self.append((transfer and transfer.size, error))


class TestOneRequest(LoopsCase):

    async def asked(self, kind, operate, status=200, body=b''):
        async with opened(kind, lambda request: answer(
                status, b'' if request.method == 'HEAD' else body)) as (
                    server, found):
            await operate(found)
        request, = server.requests
        if kind == 's3':
            self.assertEqual(
                request.headers['authorization'], signed_by_botocore(
                    request, more=SIGNED & set(request.headers)))
        return lines(server)[0], request

    async def test_both_have_their_own_names_for_the_same(self):
        version = Want(version='1 &')
        for operate, status, swift, s3 in (
                (lambda s: s.get('c', 'o', None, version), 200,
                 'GET /c/o?version-id=1 &', 'GET /c/o?versionId=1 &'),
                (lambda s: s.head('c', 'o', version), 200,
                 'HEAD /c/o?version-id=1 &', 'HEAD /c/o?versionId=1 &'),
                (lambda s: s.delete('c', 'o', version), 404,
                 'DELETE /c/o?version-id=1 &', 'DELETE /c/o?versionId=1 &'),
                (lambda s: s.get('c', 'o', None, Want(part=2)), 206,
                 'GET /c/o?part-number=2', 'GET /c/o?partNumber=2'),
                (lambda s: s.list_versions('c'), 200,
                 'GET /c?versions', 'GET /c/?versions='),
                (lambda s: s.list_versions('c', 'o&'), 200,
                 'GET /c?versions&prefix=o&', 'GET /c/?prefix=o&&versions='),
                (lambda s: s.head('c', 'o'), 200, 'HEAD /c/o', 'HEAD /c/o')):
            for kind, line in (('swift', swift), ('s3', s3)):
                found, _ = await self.asked(kind, operate, status)
                self.assertEqual(line, found)

    async def test_a_range_and_headers_are_headers(self):
        want = Want((('x-amz-meta-a', 'b'),), span=(5, 9))
        for kind in CONFIGS:
            _, request = await self.asked(
                kind, lambda s: s.get('c', 'o', None, want), 206)
            self.assertEqual(('bytes=5-9', 'b'), (
                request.headers['range'], request.headers['x-amz-meta-a']))
            _, request = await self.asked(
                kind, lambda s: s.put('c', 'o', Body(3), Want((
                    ('content-type', 'text/x'),))), 201)
            self.assertEqual('text/x', request.headers['content-type'])

    async def test_metadata_are_posted_or_copied(self):
        want = Want((('x-amz-meta-a', 'b'),))
        line, request = await self.asked(
            'swift', lambda s: s.post('c', 'o', want), 202)
        self.assertEqual(('POST /c/o', 'b'), (
            line, request.headers['x-amz-meta-a']))
        line, request = await self.asked(
            's3', lambda s: s.post('c', 'o ä', want))
        self.assertEqual(('PUT /c/o ä', 'b', '/c/o%20%C3%A4', 'REPLACE'), (
            line, *(request.headers['x-amz-' + name] for name in (
                'meta-a', 'copy-source', 'metadata-directive'))))

    async def test_a_server_that_sends_all_instead_of_a_piece_fails(self):
        for kind in CONFIGS:
            for want in (Want(span=(0, 3)), Want(part=1)):
                with self.fails('partial', 'all of it'):
                    await self.asked(kind, lambda s: s.get(
                        'c', 'o', None, want), 200, b'12345')

    async def test_the_length_of_an_object_is_asked_for(self):
        for kind in CONFIGS:
            for status, expected in ((404, None), (200, 0)):
                async with opened(kind, lambda request: answer(status)) as (
                        _, found):
                    self.assertEqual(expected, await found.length('c', 'o'))

    async def test_many_deletes_are_checked(self):
        good = b'{"Response Status": "200 OK", "Errors": [], ' \
            b'"Number Deleted": 1, "Number Not Found": 1}'
        line, request = await self.asked(
            'swift', lambda s: s.bulk_delete('c', ['a ä', 'b/c']), 200, good)
        self.assertEqual(('POST ?bulk-delete', b'c/a%20%C3%A4\nc/b/c\n'), (
            line, request.body))
        line, request = await self.asked(
            's3', lambda s: s.bulk_delete('c', ['a<ä', 'b']), 200, b'<X/>')
        self.assertEqual('POST /c/?delete=', line)
        self.assertIn('<Key>a&lt;ä</Key>'.encode(), request.body)
        for kind, bodies in (
                ('swift', (b'', b'[]', b'{}', good.replace(b'200', b'400'),
                           good.replace(b': 1,', b': 0,'),
                           good.replace(b'[]', b'[["c/a", "403"]]'))),
                ('s3', (b'<R><Error><Key>a</Key></Error></R>',))):
            for body in bodies:
                with self.assertRaises(OperationError) as raised:
                    await self.asked(kind, lambda s: s.bulk_delete(
                        'c', ['a', 'b']), 200, body)
                self.assertIn(raised.exception.kind, ('partial', 'protocol'))

    async def test_an_answer_that_is_looked_into_has_a_bound(self):
        for kind in CONFIGS:
            with self.fails('protocol', 'more than'):
                await self.asked(kind, lambda s: s.versions('c', 'o'), 200,
                                 b'[' + b' ' * 2 ** 22 + b']')

    async def test_what_an_adaptor_lacks_is_said(self):
        with self.fails('unsupported', 'partSize'):
            await Storage().upload('c', 'o', BODIES, Parts(3), None)


class TestVersions(LoopsCase):

    async def test_the_ids_of_one_object_with_content_are_found(self):
        listing = json.dumps([
            {'name': 'o', 'version_id': '3', 'content_type':
             'application/x-deleted;swift_versions_deleted=1'},
            {'name': 'o', 'version_id': '2'}, {'name': 'o'}, 7,
            {'name': 'o', 'version_id': 'null', 'content_type': 'text/x'},
            {'name': 'o1', 'version_id': '9'}]).encode()
        xml = b'<L><Version><Key>o</Key><VersionId>2</VersionId></Version>' \
            b'<DeleteMarker><Key>o</Key><VersionId>3</VersionId>' \
            b'</DeleteMarker><Version><VersionId>null</VersionId>' \
            b'<IsLatest>false</IsLatest><Key>o</Key></Version><Version>' \
            b'<Key>o1</Key><VersionId>9</VersionId></Version><Version/></L>'
        for kind, body in (('swift', listing), ('s3', xml)):
            async with opened(kind, lambda request: answer(200, body)) as (
                    server, found):
                self.assertEqual(['2', 'null'],
                                 await found.versions('c', 'o'))
        self.assertEqual(['a&b'], s3_bodies.versions_of(
            b'<Version><Key>x&lt;</Key><VersionId>a&amp;b</VersionId>'
            b'</Version>', 'x<'))
        with self.assertRaises(OperationError):
            swift_bodies.versions_of(b'{}', 'o')


class TestUploads(LoopsCase):

    async def up(self, kind, respond, parts=Parts(3, 2)):
        """:returns: (server, notes, transfer)"""
        notes = Notes()
        async with opened(kind, respond) as (server, found):
            try:
                transfer = await found.upload(
                    'c', 'o', BODIES, parts, notes, Want((('x-a', 'b'),)))
            except OperationError as err:
                transfer = err
        return server, notes, transfer

    @staticmethod
    def swift(request):
        return answer(201, etag='"e%d"' % len(request.body))

    @staticmethod
    def s3(request):
        return answer(200, b'<UploadId>u&amp;</UploadId>' if
                      request.target.endswith('uploads=') else b'<Done/>',
                      etag='"e%d"' % len(request.body))

    async def test_swift_gets_segments_then_a_manifest(self):
        for large in Large:
            server, notes, transfer = await self.up(
                'swift', self.swift, Parts(3, 2, large))
            self.assertEqual(8, transfer.size)
            self.assertEqual([(2, None), (3, None), (3, None)], sorted(notes))
            *segments, last = server.requests
            names = sorted(unquote(each.target) for each in segments)
            prefix = names[0][len('/v1/a/'):-5]
            self.assertRegex(prefix, '^c/o/parts/[0-9a-f]{32}/$')
            self.assertEqual(['/v1/a/%s0000%d' % (prefix, number)
                              for number in (1, 2, 3)], names)
            self.assertEqual('b', last.headers['x-a'])
            if large is Large.DLO:
                self.assertEqual((b'', prefix), (
                    last.body, last.headers['x-object-manifest']))
            else:
                self.assertEqual('/v1/a/c/o?multipart-manifest=put',
                                 last.target)
                self.assertEqual([
                    {'path': '/%s0000%d' % (prefix, number + 1),
                     'etag': 'e%d' % body.size, 'size_bytes': body.size}
                    for number, body in enumerate(BODIES)],
                    json.loads(last.body))

    async def test_s3_gets_an_upload_its_parts_and_its_completion(self):
        server, notes, transfer = await self.up('s3', self.s3)
        self.assertEqual((8, 3), (transfer.size, len(notes)))
        begin, *parts, last = lines(server)
        self.assertEqual('POST /c/o?uploads=', begin)
        self.assertEqual({'PUT /c/o?partNumber=%d&uploadId=u&' % number
                          for number in (1, 2, 3)}, set(parts))
        self.assertEqual('POST /c/o?uploadId=u&', last)
        self.assertEqual('b', server.requests[0].headers['x-a'])
        self.assertIn(b'<Part><PartNumber>3</PartNumber><ETag>"e2"</ETag>',
                      server.requests[-1].body)

    async def test_as_many_parts_as_asked_for_are_under_way(self):
        for parallel in (1, 2, 3, 9):
            going, most = [], []

            async def respond(request):
                going.append(request)
                most.append(len(going))
                await asyncio.sleep(0.01)
                going.remove(request)
                return self.swift(request)
            await self.up('swift', respond, Parts(3, parallel))
            self.assertEqual(min(parallel, 3), max(most))

    async def test_a_part_that_fails_ends_the_upload(self):
        def swift(request):
            return answer(503) if request.target.endswith('2') \
                else self.swift(request)

        def s3(request):
            return answer(503) if 'partNumber=2' in request.target \
                else self.s3(request)
        for kind, respond in (('swift', swift), ('s3', s3)):
            server, notes, error = await self.up(kind, respond, Parts(3))
            self.assertEqual('http 503', error.kind)
            self.assertEqual([(3, None), (None, 'http 503')], notes)
        # What S3 had taken is given up.
        self.assertEqual('DELETE /c/o?uploadId=u&', lines(server)[-1])

    async def test_a_completion_that_fails_late_is_a_failure(self):
        def respond(request):
            return answer(200, b'<Error><Code>X</Code></Error>') \
                if request.body.startswith(b'<Comp') else self.s3(request)
        _, notes, error = await self.up('s3', respond)
        self.assertEqual(('partial', 3), (error.kind, len(notes)))

    async def test_parts_go_with_their_object(self):
        left = [b'[{"name": "o/parts/1"}, {"name": "o/parts/2"}]', b'[]']

        def respond(request):
            if request.method == 'GET':
                return answer(200, left.pop(0))
            return answer(200, b'{"Response Status": "200 OK", "Errors": [],'
                          b'"Number Deleted": 2, "Number Not Found": 0}') \
                if request.method == 'POST' else answer(204)
        async with opened('swift', respond) as (server, found):
            await found.delete_with_parts('c', 'o')
        self.assertEqual([
            'DELETE /c/o', 'GET /c?format=json&limit=1000&prefix=o/parts/',
            'POST ?bulk-delete',
            'GET /c?format=json&limit=1000&prefix=o/parts/'], lines(server))
