# SPDX-License-Identifier: Apache-2.0
"""A container update that is to be repeated, as one device tells another.

PROTOCOL.md, "Rows".
"""

import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

OPS = ('PUT', 'DELETE')


class RowError(ValueError):
    """What is no container update."""


@dataclass(frozen=True)
class Row:
    """What Swift keeps of a container update.

    :param op: one of OPS
    :param account: of the object
    :param container: of the object
    :param obj: the object's name
    :param headers: of the update
    :param db_state: of the container, if the proxy knew it
    :param container_path: account/container of the shard, if there is one
    """
    op: str
    account: str
    container: str
    obj: str
    headers: Dict[str, str]
    db_state: Optional[str] = None
    container_path: Optional[str] = None

    @property
    def path(self) -> str:
        """/account/container/object"""
        return '/%s/%s/%s' % (self.account, self.container, self.obj)

    @classmethod
    def of(cls, data: Any) -> 'Row':
        """Read what Swift keeps, or what :meth:`data` gives.

        :raises RowError: if it is none
        """
        if not isinstance(data, Mapping):
            raise RowError('row: %.80r is no object' % (data,))
        headers = data.get('headers')
        if not isinstance(headers, Mapping) or not all(
                isinstance(text, str) for pair in headers.items()
                for text in pair):
            raise RowError('row: headers: not texts')
        for name in 'op', 'account', 'container', 'obj':
            if not isinstance(data.get(name), str) or not data[name]:
                raise RowError('row: %s: %.80r is no text' % (
                    name, data.get(name)))
        for name in 'db_state', 'container_path':
            if not isinstance(data.get(name), (str, type(None))):
                raise RowError('row: %s: %.80r is no text' % (
                    name, data[name]))
        if data['op'] not in OPS:
            raise RowError('row: op %.80r, must be PUT or DELETE' % data['op'])
        return cls(data['op'], data['account'], data['container'],
                   data['obj'], dict(headers), data.get('db_state'),
                   data.get('container_path'))

    def data(self) -> Dict[str, Any]:
        """Return what Swift keeps."""
        found = dict(vars(self))
        if self.container_path is None:
            del found['container_path']
        return found

    def encode(self) -> bytes:
        """Return its bytes."""
        return json.dumps(self.data()).encode('ascii')

    @classmethod
    def decode(cls, body: bytes) -> 'Row':
        """Read its bytes.

        :raises RowError: if they are none
        """
        try:
            return cls.of(json.loads(body))
        except (ValueError, RecursionError) as err:
            raise RowError(str(err)[:200])
