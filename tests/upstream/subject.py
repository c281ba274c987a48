# SPDX-License-Identifier: Apache-2.0
"""The subjects: what Swift's suites are run against.

A subject says what takes the place of what in Swift, how paths are looked up
that tests look up themselves, and which suites it is run with. Its sections
of exclusions.conf begin with its name. It names what it puts in place as
'module:attribute', so that it can be read where those are not installed.
"""

from dataclasses import dataclass, field

from tools import ToolError

DEFAULT = 'lightsync'


@dataclass(frozen=True)
class Row:
    """An attribute of a Swift module, and what takes its place.

    :param stock: 'module:attribute'
    :param ours: 'module:attribute'
    :param sabotages: (method, suite, number): when the method raises, at
        least so many tests of the suite must fail
    """

    stock: str
    ours: str
    sabotages: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True)
class Subject:
    """What the suites are run against.

    :param rows: what takes the place of what
    :param suites: names of the suites that are run by default
    :param privates: by 'module:attribute', modules that a module of Swift
        has under a name: it gets a copy of its own, so that what a test mocks
        there reaches no one else. The value is what the copy has instead
    :param content: 'module:attribute' of a kv_content.VolumeContent, or None
    :param cluster: options of tools/saio; only probe tests have a cluster,
        whose daemons they are run against, and rows and content are for the
        process of the tests
    """

    rows: tuple[Row, ...]
    suites: tuple[str, ...]
    privates: dict[str, dict] = field(default_factory=dict)
    content: str | None = None
    cluster: tuple[str, ...] = ()


_OURS = 'tests.upstream.stand_ins:'
_HOSTED = 'tests.upstream.kv_hosted:'
_REPLICATOR = 'swift.obj.replicator:ObjectReplicator'
_SERVER = 'swift.obj.server:ObjectController'
_CONTAINER = Row('swift.container.server:ContainerController',
                 'swift_lightsync.container_server:ContainerController',
                 (('PUT', 'container', 90), ('GET', 'container', 60)))
_PROXY = 'swift.proxy.server:Application'
#: What tests mock is meant for Swift.
_LOSF_PRIVATES: dict[str, dict] = {
    'swift_losf.%s:os' % module: {} for module in (
        'diskfile.vfile', 'volumes.volume', 'volumes.volume_pool',
        'volumes.writable')}
PROBE_SUITES = (
    'dark_data', 'empty_device_handoff', 'object_async_update',
    'object_conditional_requests', 'object_failures', 'object_handoff',
    'object_versioning', 'replication_servers_working', 'reserved_name')


def _versioning(mode):
    """Return the subject of the versioning filter in a mode."""
    return Subject(
        rows=(
            Row(_PROXY, 'swift_lightsync.proxy_server:Application'),
            _CONTAINER,
            Row('swift.common.middleware.versioned_writes:filter_factory',
                _OURS + 'legacy_factory'),
            Row('swift.common.middleware.symlink:filter_factory',
                _OURS + mode + '_factory')),
        suites=('proxy',))


SUBJECTS = {
    # LightSync as it is installed.
    'lightsync': Subject(
        rows=(
            Row(_REPLICATOR,
                'swift_lightsync.sync.replicator:LightSyncReplicator',
                (('collect_jobs', 'replicator', 33),
                 ('replicate', 'replicator', 27),
                 ('revert', 'replicator', 15),
                 ('update', 'replicator', 2))),
            Row(_SERVER, 'swift_lightsync.object_server:ObjectController',
                (('PUT', 'server', 194), ('GET', 'server', 47),
                 ('REPLICATE', 'server', 10), ('SSYNC', 'ssync', 76)))),
        suites=('obj',)),
    # The reconstructor that asks partners by conversations first.
    'lightsync_ec': Subject(
        rows=(Row('swift.obj.reconstructor:ObjectReconstructor',
                  'swift_lightsync.sync.reconstructor:LightSyncReconstructor',
                  (('collect_parts', 'reconstructor', 74),
                   ('_get_part_jobs', 'reconstructor', 54))),),
        suites=('reconstructor',)),
    # LightSync that compares every partition with all replicas in every
    # pass, as stock Swift does, so that tests hold which count the nodes of
    # a pass. Their mocks are kept to Swift's own code, and nodes to their
    # order, which tests read out of Swift's own jobs.
    'full_exchange': Subject(
        rows=(Row(_REPLICATOR, _OURS + 'FullExchangeReplicator',
                  (('update', 'replicator', 10),)),),
        suites=('replicator',),
        privates={'swift.obj.replicator:tpool': {},
                  'swift.obj.replicator:random': {
                      'shuffle': lambda nodes: None}}),
    # Objects in volumes: the diskfile classes of LOSF.
    'kv': Subject(
        rows=(
            Row('swift.obj.diskfile:DiskFileManager',
                _HOSTED + 'HostedManager',
                (('yield_hashes', 'diskfile', 12),
                 ('_hash_suffix_dir', 'diskfile', 43),
                 ('quarantine_dir_renamer', 'diskfile', 19),
                 ('delete_hash_dir', 'replicator', 1),
                 ('find', 'ssync', 31))),
            Row('swift.obj.diskfile:DiskFile', _HOSTED + 'HostedFile',
                (('_read_and_validate_metadata', 'server', 109),)),
            Row('swift.obj.diskfile:DiskFileWriter',
                _HOSTED + 'HostedWriter', (('_make_durable', 'server', 146),)),
            Row('swift.obj.diskfile:DiskFileReader',
                _HOSTED + 'HostedReader')),
        suites=('diskfile', 'server', 'ssync', 'auditor', 'replicator',
                'expirer', 'updater'),
        privates=_LOSF_PRIVATES, content=_HOSTED + 'CONTENT'),
    # Fragments in volumes.
    'kv_ec': Subject(
        rows=(
            Row('swift.obj.diskfile:ECDiskFileManager',
                _HOSTED + 'HostedECManager'),
            Row('swift.obj.diskfile:ECDiskFile', _HOSTED + 'HostedECFile'),
            Row('swift.obj.diskfile:ECDiskFileWriter',
                _HOSTED + 'HostedECWriter'),
            Row('swift.obj.diskfile:ECDiskFileReader',
                _HOSTED + 'HostedECReader')),
        suites=('diskfile', 'reconstructor', 'ssync', 'auditor', 'server'),
        privates=_LOSF_PRIVATES, content=_HOSTED + 'EC_CONTENT'),
    # Primary-role writes: in functional tests the default policy has them.
    # That the suite passes proves nothing of replication: one copy is all
    # that it asks for, and no converger runs. In unit tests no policy has
    # them: the app is to be stock Swift's then.
    'proar': Subject(
        rows=(Row(_PROXY, _OURS + 'PrimaryRoleApplication'),
              Row(_SERVER, _OURS + 'UnboundedController')),
        suites=('proxy',)),
    # The container server that keeps versions.
    'container': Subject(rows=(_CONTAINER,), suites=('container',)),
    'read_repair': _versioning('read_repair'),
    'write_repair': _versioning('write_repair'),
}
PROBES = {
    'lightsync': Subject((), PROBE_SUITES,
                         cluster=('--replicator', 'lightsync')),
    'kv': Subject(
        rows=(Row('swift.obj.diskfile:DiskFileManager',
                  'swift_losf.diskfile.kvfile:KVDiskFileManager'),),
        suites=(*PROBE_SUITES, 'object_partpower_increase'),
        content='tests.upstream.kv_content:CONTENT',
        cluster=('--replicator', 'stock', '--policies',
                 'gold:3:kv,silver:3')),
    'kv_ec': Subject(
        rows=(Row('swift.obj.diskfile:ECDiskFileManager',
                  'swift_losf.diskfile.fragments:KVECDiskFileManager'),),
        suites=('reconstructor_rebuild', 'reconstructor_revert'),
        content='tests.upstream.kv_content:CONTENT',
        cluster=('--replicator', 'stock', '--policies',
                 'gold:3,silver:3,ec42:4+2:kv')),
}


def load(name, kind='unit'):
    """Return a subject.

    :param name: a key of SUBJECTS
    :param kind: of the suites; 'probe' wants one with a cluster
    :raises ToolError: if there is none
    """
    if kind != 'probe':
        return SUBJECTS[name]
    if name not in PROBES:
        raise ToolError('the probe tests cannot be run against %s: it '
                        'has no cluster' % name)
    return PROBES[name]
