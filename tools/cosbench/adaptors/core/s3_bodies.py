# SPDX-License-Identifier: Apache-2.0
"""The bodies of S3's requests and answers, which are XML.

An answer is searched for the few elements that are needed, and never parsed
as a document: whatever it has in it, nothing expands.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import md5
from html import escape, unescape

from cosbench.adaptors.core.operation_errors import OperationError

_NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_UPLOAD = re.compile(rb'<UploadId>([^<]{1,1024})</UploadId>')
_ERROR = re.compile(rb'<Error>')
_VERSION = re.compile(rb'<Version>(.*?)</Version>', re.DOTALL)
_KEY = re.compile(rb'<Key>([^<]*)</Key>')
_ID = re.compile(rb'<VersionId>([^<]{1,1024})</VersionId>')


def constraint(region: str) -> bytes:
    """Return the body that creates a bucket in a region."""
    return ('<CreateBucketConfiguration %s><LocationConstraint>%s'
            '</LocationConstraint></CreateBucketConfiguration>' % (
                _NAMESPACE, escape(region))).encode()


def names_to_delete(names: Iterable[str]) -> bytes:
    """Return the body that deletes several objects."""
    return ('<Delete %s><Quiet>true</Quiet>%s</Delete>' % (
        _NAMESPACE, ''.join(
            '<Object><Key>%s</Key></Object>' % escape(name, False)
            for name in names))).encode()


def digest(data: bytes) -> str:
    """Return the Content-MD5 that S3 wants with some bodies."""
    return b64encode(md5(data, usedforsecurity=False).digest()).decode()


def completion(etags: Sequence[str]) -> bytes:
    """Return the body that makes one object of the parts of an upload.

    :returns: XML
    """
    return ('<CompleteMultipartUpload %s>%s</CompleteMultipartUpload>' % (
        _NAMESPACE, ''.join(
            '<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>'
            % (number, escape(etag, False))
            for number, etag in enumerate(etags, 1)))).encode()


def check_no_error(data: bytes) -> None:
    """Check an answer 200 that may have an error in its body.

    :raises OperationError: ``partial``, if it has
    """
    if _ERROR.search(data):
        raise OperationError('partial', ' '.join(
            data.decode('utf8', 'replace').split())[-300:])


def upload_of(data: bytes) -> str:
    """Return the id of an upload that began.

    :raises OperationError: if there is none
    """
    found = _UPLOAD.search(data)
    if found is None:
        raise OperationError('protocol', 'no UploadId: %r' % data[:60])
    return unescape(found[1].decode('utf8', 'replace'))


def versions_of(data: bytes, name: str) -> list[str]:
    """Return the ids of the versions of an object that have content.

    :returns: ids, in the order of the listing
    """
    ids = []
    for found in _VERSION.finditer(data):
        key, version = _KEY.search(found[1]), _ID.search(found[1])
        if key and version and \
                unescape(key[1].decode('utf8', 'replace')) == name:
            ids.append(unescape(version[1].decode('utf8', 'replace')))
    return ids
