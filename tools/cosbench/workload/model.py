# SPDX-License-Identifier: Apache-2.0
"""A workload: what a document means, with all that it inherits spelt out.

Workload -> workstages, one after the other -> works, at the same
time -> workers, which choose among the operations of their work by ratio
(COSBench §4.3). Nothing here refers to XML; everything is immutable.
"""

from dataclasses import dataclass
from enum import Enum

from cosbench.workload.config import Config
from cosbench.workload.division import part
from cosbench.workload.requests import Parts, Piece, Version
from cosbench.workload.selectors import Selector, Sizes

#: (name in lower case, value) pairs.
Headers = tuple[tuple[str, str], ...]
#: Bytes that hashCheck puts at the end of an object: !!!! md5 in hex !!!!.
HASH_TRAILER = 40


class WorkType(Enum):
    """What a work is for."""

    NORMAL = 'normal'
    INIT = 'init'
    PREPARE = 'prepare'
    CLEANUP = 'cleanup'
    DISPOSE = 'dispose'
    DELAY = 'delay'


class OperationType(Enum):
    """What a worker does; those of the special works have their names."""

    READ = 'read'
    WRITE = 'write'
    FILEWRITE = 'filewrite'
    DELETE = 'delete'
    LIST = 'list'
    HEAD = 'head'
    #: Replace the metadata of an object.
    POST = 'post'
    #: Overwrite an object with all that it was and more.
    APPEND = 'append'
    #: Delete many objects with one request.
    BULK_DELETE = 'bulkdelete'
    #: Create each container.
    INIT = 'init'
    #: Write each object of each container.
    PREPARE = 'prepare'
    #: Delete each object of each container.
    CLEANUP = 'cleanup'
    #: Delete each container.
    DISPOSE = 'dispose'
    #: Nothing: the time is the closure delay of the stage.
    DELAY = 'delay'


class Division(Enum):
    """What each worker of a work has its own part of."""

    NONE = 'none'
    CONTAINER = 'container'
    OBJECT = 'object'


class Content(Enum):
    """The bytes of objects that are written."""

    RANDOM = 'random'
    ZERO = 'zero'


class FileSelection(Enum):
    """Which file a filewrite takes: the selector over all files."""

    UNIFORM = 'u'
    CYCLIC = 'r'
    SEQUENTIAL = 's'


@dataclass(frozen=True)
class Auth:
    """How the workers of a work log in."""

    type: str = 'none'
    config: Config = Config()


@dataclass(frozen=True)
class Storage:
    """What the workers of a work talk to."""

    type: str = 'none'
    config: Config = Config()


@dataclass(frozen=True)
class Trigger:
    """A script that each driver runs around a stage or a workload."""

    #: A bare file name.
    script: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return '%s(%s)' % (self.script, ','.join(self.arguments))


@dataclass(frozen=True)
class Names:
    """The names of containers or of objects."""

    prefix: str
    selector: Selector
    suffix: str

    def name(self, number: int) -> str:
        return '%s%d%s' % (self.prefix, number, self.suffix)


@dataclass(frozen=True)
class Operation:
    """One kind of things that the workers of a work do."""

    type: OperationType
    #: Percent of the operations of its work, 1 to 100.
    ratio: int
    division: Division
    #: Unique in its work.
    id: str
    #: What reports call it.
    name: str
    #: All of its keys, also those that only an adaptor knows.
    config: Config
    #: None where the type has none, or for a list of the account.
    containers: Names | None = None
    #: None where the type has none, or for a list of a container.
    objects: Names | None = None
    sizes: Sizes | None = None
    content: Content = Content.RANDOM
    #: Percent of random content that repeats, and that is zeros.
    dedup: int = 0
    compress: int = 0
    chunked: bool = False
    #: Write, or check, ``HASH_TRAILER``.
    hash_check: bool = False
    #: The directory that filewrite takes files from.
    files: str | None = None
    file_selection: FileSelection | None = None
    #: prepare: create the containers before; cleanup: delete them after.
    with_containers: bool = False
    #: (name in lower case, value) of the containers that it creates, and
    #: of its requests for objects.
    headers: Headers = ()
    object_headers: Headers = ()
    #: None: in one request, the object as it is, all of it.
    parts: Parts | None = None
    version: Version | None = None
    piece: Piece | None = None
    #: delete, cleanup: the parts of the object too. list: its versions.
    with_parts: bool = False
    versions: bool = False
    #: Objects that a bulkdelete deletes at once.
    batch: int = 1
    #: Bytes from which on an append begins anew; None: never.
    limit: int | None = None


@dataclass(frozen=True)
class Quota:
    """What one worker may use; None: no limit."""

    operations: int | None
    #: Bytes.
    volume: int | None


@dataclass(frozen=True)
class Work:
    """One job, which ends with the first of its limits.

    One limit at least is not 0. An operation of a special work is one pass
    over the worker's part; each worker makes one.
    """

    name: str
    type: WorkType
    workers: int
    #: Seconds between two samples of its time series.
    interval: int
    #: Seconds; the ramps are 0 if the run time is.
    rampup: int
    runtime: int
    rampdown: int
    #: Of all its workers; 0: no limit.
    total_ops: int
    #: Of all its workers; 0: no limit.
    total_bytes: int
    #: Accepted failures per million; more, and the stage has failed.
    afr: int
    #: The name of the driver that it is pinned to, or None.
    driver: str | None
    config: Config
    auth: Auth
    storage: Storage
    operations: tuple[Operation, ...]

    def quota(self, worker: int) -> Quota:
        """Return what a worker may use: all quotas add up to the totals.

        A quota of 0 is nothing, whereas COSBench rounded down and ran for
        ever on 0.

        :param worker: which, from 0
        """
        return Quota(*(
            part(total, self.workers, worker)[1] if total else None
            for total in (self.total_ops, self.total_bytes)))


@dataclass(frozen=True)
class Workstage:
    """Works that run at the same time."""

    name: str
    #: Seconds to wait after its works.
    closure_delay: int
    trigger: Trigger | None
    works: tuple[Work, ...]

    @property
    def workers(self) -> int:
        """How many there are in all of its works."""
        return sum(work.workers for work in self.works)


@dataclass(frozen=True)
class Workload:
    """What a document asks for."""

    name: str
    description: str
    trigger: Trigger | None
    #: One after the other.
    stages: tuple[Workstage, ...]

    @property
    def works(self) -> tuple[Work, ...]:
        """The works of all stages, in order."""
        return tuple(work for stage in self.stages for work in stage.works)
