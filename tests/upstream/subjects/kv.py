# SPDX-License-Identifier: Apache-2.0
"""Objects in volumes: the diskfile classes of LOSF."""

from tests.upstream.subject import Private, Probe, Row, Sabotage, Subject

HOSTED = 'tests.upstream.kv_hosted:'

SUBJECT = Subject(
    rows=(Row('swift.obj.diskfile:DiskFileManager', HOSTED + 'HostedManager',
              (Sabotage('yield_hashes', 'diskfile', 12),
               Sabotage('_hash_suffix_dir', 'diskfile', 43),
               Sabotage('quarantine_dir_renamer', 'diskfile', 19),
               Sabotage('delete_hash_dir', 'replicator', 1),
               Sabotage('find', 'ssync', 31))),
          Row('swift.obj.diskfile:DiskFile', HOSTED + 'HostedFile',
              (Sabotage('_read_and_validate_metadata', 'server', 109),)),
          Row('swift.obj.diskfile:DiskFileWriter', HOSTED + 'HostedWriter',
              (Sabotage('_make_durable', 'server', 146),)),
          Row('swift.obj.diskfile:DiskFileReader',
              'swift_losf.diskfile.kvfile:KVDiskFileReader')),
    suites=('diskfile', 'server', 'ssync', 'auditor', 'replicator',
            'expirer', 'updater'),
    # What tests mock is meant for Swift.
    privates=tuple(Private('swift_losf.%s:os' % module) for module in (
        'diskfile.vfile', 'volumes.held_volume', 'volumes.volume_pool',
        'volumes.volume', 'volumes.writable')),
    content=HOSTED + 'CONTENT')

PROBE = Probe(
    rows=(Row('swift.obj.diskfile:DiskFileManager',
              'swift_losf.diskfile.kvfile:KVDiskFileManager'),),
    suites=('dark_data', 'empty_device_handoff', 'object_async_update',
            'object_conditional_requests', 'object_failures',
            'object_handoff', 'object_versioning',
            'replication_servers_working', 'reserved_name'),
    content='tests.upstream.kv_cluster:CONTENT',
    cluster=('--replicator', 'stock', '--policies', 'gold:3:kv,silver:3'))
