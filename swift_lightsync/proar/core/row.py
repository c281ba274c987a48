# SPDX-License-Identifier: Apache-2.0
"""A container update that is to be repeated, as one device tells another.

PROTOCOL.md, "Rows".
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from swift_lightsync.common.records import Length, Record

_Name = Annotated[str, Length(64 << 10, 1)]


@dataclass(frozen=True)
class Row(Record):
    """What Swift keeps of a container update.

    :param op: of the update
    :param account: of the object
    :param container: of the object
    :param obj: the object's name
    :param headers: of the update
    :param db_state: of the container, if the proxy knew it
    :param container_path: account/container of the shard, if there is one
    """
    op: Literal['PUT', 'DELETE']
    account: _Name
    container: _Name
    obj: _Name
    headers: dict[str, str]
    db_state: str | None = None
    container_path: str | None = None

    @property
    def path(self) -> str:
        """/account/container/object"""
        return '/%s/%s/%s' % (self.account, self.container, self.obj)

    def data(self) -> dict[str, Any]:
        """Return what Swift keeps."""
        found = dict(vars(self))
        if self.container_path is None:
            del found['container_path']
        return found
