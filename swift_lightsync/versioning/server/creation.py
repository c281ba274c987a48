# SPDX-License-Identifier: Apache-2.0
"""Containers that have their metadata from the first moment.

Swift makes a database, or revives a deleted one, and stores its metadata
afterwards. Who asks in between is told of a container without versions, a
proxy remembers that for a minute, and what clients write meanwhile overwrites
what should have become a version.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Optional

from swift.common.db import DatabaseBroker
from swift.common.request_helpers import is_sys_or_user_meta
from swift.common.swob import HTTPException, Request, wsgi_to_str
from swift.common.utils import Timestamp
from swift.container.backend import ContainerBroker
from swift.container.server import ContainerController


class Creation(ContainerController):
    """Makes containers together with their metadata."""

    def _update_or_create(self, req: Request, broker: ContainerBroker,
                          timestamp: str, new_container_policy: int,
                          requested_policy_index: Optional[int]) -> bool:
        if not os.path.exists(broker.db_file):
            metadata = {
                wsgi_to_str(key): (wsgi_to_str(value), timestamp)
                for key, value in req.headers.items()
                if key.lower() in self.save_headers
                or is_sys_or_user_meta('container', key)}
            # Swift refuses others later, and has made the container then.
            with suppress(HTTPException):
                DatabaseBroker.validate_metadata(metadata)
                broker._initialize = partial(  # noqa: SLF001
                    _initialize, broker._initialize, metadata)
        elif broker.is_deleted() and \
                timestamp > broker.get_info()['delete_timestamp']:
            # It stays deleted until it has them.
            self._update_metadata(req, broker, Timestamp(timestamp), 'PUT')
        created: bool = super()._update_or_create(
            req, broker, timestamp, new_container_policy,
            requested_policy_index)
        return created


def _initialize(initialize: Callable[..., None], metadata: Mapping[str, Any],
                conn: Any, *args: Any, **kwargs: Any) -> None:
    """Fill a new database, which nobody sees yet, with metadata, too."""
    initialize(conn, *args, **kwargs)
    conn.execute('UPDATE container_stat SET metadata = ?',
                 (json.dumps(metadata),))
