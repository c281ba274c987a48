# SPDX-License-Identifier: Apache-2.0
"""Writing an object of a data set by its diskfile, without a server."""

from hashlib import md5


def put(disk_file, body, timestamp):
    """
    :param disk_file: of any diskfile class
    :param body: bytes
    :param timestamp: a Timestamp
    """
    with disk_file.create(size=len(body)) as writer:
        writer.write(body)
        writer.put({
            'X-Timestamp': timestamp.internal,
            'Content-Type': 'application/octet-stream',
            'Content-Length': str(len(body)),
            'ETag': md5(body, usedforsecurity=False).hexdigest()})
        writer.commit(timestamp)
