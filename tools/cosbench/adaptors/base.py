# SPDX-License-Identifier: Apache-2.0
"""What an adaptor for an authentication or for a storage is; ADAPTORS.md.

``Auth`` logs in; ``Storage`` moves objects. A work has one of each in each
driver process; all its workers, coroutines of one event loop, share them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1.connection import clock

__all__ = ['Auth', 'Credentials', 'OperationError', 'Storage', 'Transfer',
           'WHOLE', 'Want', 'clock']


@dataclass(frozen=True)
class Credentials:
    """What a login gives; None: this auth has no such thing."""

    token: str | None = None
    #: Where the account is.
    storage_url: str | None = None


class Transfer(NamedTuple):
    """An operation that succeeded."""

    #: When the head of the response was there, by ``clock``.
    first_byte: float
    #: Bytes of object data, or of a listing, without HTTP.
    size: int
    #: When what is measured began; None: with the operation. Before it the
    #: driver asked for what the operation needs to know, such as a version.
    started: float | None = None


class Want(NamedTuple):
    """What a request for an object has beside the name."""

    #: (name in lower case, value) pairs to go with it.
    headers: tuple[tuple[str, str], ...] = ()
    #: The id of a version, as ``Storage.versions`` gives it.
    version: str | None = None
    #: First and last byte of a range.
    span: tuple[int, int] | None = None
    #: The number of a part, from 1.
    part: int | None = None


#: The object as it is.
WHOLE = Want()


class Auth:
    """Gets credentials."""

    #: Whether another login can give a token that this one did not.
    renewable = True
    #: How often a login that failed is tried again.
    retry = 0
    #: Not None: works with an equal key use each other's credentials.
    cache_key: Any = None

    def __init__(self, config=None):
        """Read the settings.

        :param config: the ``Config`` of the element
        :raises ConfigError: if a key is missing or has a wrong value
        """

    async def login(self):
        """Log in, once.

        :returns: ``Credentials``
        :raises OperationError: if there are none
        """
        raise NotImplementedError


class Storage:
    """Moves objects. Many operations run at the same time; each may be
    cancelled at any await. Names are texts, not quoted.
    """

    #: Requests that went out again by themselves, since this was made.
    resent = 0
    #: What workers ask in turn; None: this one only.
    endpoints: tuple['Storage', ...] | None = None

    def __init__(self, config=None, auth=None):
        """Read the settings.

        :param config: the ``Config`` of the element
        :param auth: an ``Auth``
        :raises ConfigError: if a key is missing or has a wrong value
        """

    async def open(self):
        """Log in. Called once, before all operations.

        :raises OperationError: if that fails
        """

    async def close(self):
        """Let go of all connections. Called once, also without open."""

    async def create_container(self, name, headers=()):
        """Make a container. One that is there already is a success.

        :param headers: (name in lower case, value) pairs to go with it
        :returns: a ``Transfer``, as all operations do
        :raises OperationError: if the operation failed, as all do
        """
        raise NotImplementedError

    async def delete_container(self, name):
        """Remove an empty container; none to remove is a success."""
        raise NotImplementedError

    async def put(self, container, name, body, want=WHOLE):
        """Write an object.

        :param body: iterable, more than once, in blocks of bytes;
            ``size`` bytes; ``chunked``: their number is not told before
        :param want: its headers
        """
        raise NotImplementedError

    async def get(self, container, name, sink=None, want=WHOLE):
        """Read an object, a version, a range or a part.

        :param sink: called with each block (bytes or memoryview, valid
            during the call), or None; what it raises ends the operation
            and is raised here
        """
        raise NotImplementedError

    async def delete(self, container, name, want=WHOLE):
        """Remove an object or a version; none to remove is a success."""
        raise NotImplementedError

    async def list(self, container=None, name=None):
        """List the account, or a container; or ask for one object of it."""
        raise NotImplementedError

    # What workloads ask for that say so; an adaptor need not have it.

    async def head(self, container, name, want=WHOLE):
        """Ask for an object's metadata."""
        raise _lacking('head')

    async def post(self, container, name, want):
        """Replace an object's metadata with the headers."""
        raise _lacking('post')

    async def length(self, container, name):
        """Return how many bytes an object has; None: there is none."""
        raise _lacking('append')

    async def versions(self, container, name):
        """Return the ids of an object's versions, the latest first."""
        raise _lacking('version')

    async def list_versions(self, container, name=None):
        """List the versions in a container, or those of one object."""
        raise _lacking('versions')

    async def bulk_delete(self, container, names):
        """Remove objects with one request, as ``delete`` does each."""
        raise _lacking('bulkdelete')

    async def upload(self, container, name, bodies, parts, note, want=WHOLE):
        """Write an object in parts.

        :param bodies: of the parts, in order, at least one
        :param parts: a ``workload.requests.Parts``
        :param note: called with each part that ended: when it started,
            a ``Transfer`` or None, the kind of its error or None
        """
        raise _lacking('partSize')

    async def delete_with_parts(self, container, name):
        """Remove an object, and the parts that it was uploaded in."""
        raise _lacking('withParts')


def _lacking(what):
    return OperationError('unsupported', 'this storage has no %s' % what)
