# SPDX-License-Identifier: Apache-2.0
"""LightSync as it is installed: its object replicator and object server."""

from tests.upstream.subject import Probe, Row, Sabotage, Subject

OBJECT_SERVER = Row(
    'swift.obj.server:ObjectController',
    'swift_lightsync.object_server:ObjectController',
    (Sabotage('PUT', 'server', 194),
     Sabotage('GET', 'server', 47),
     Sabotage('REPLICATE', 'server', 10),
     Sabotage('SSYNC', 'ssync', 76)))

SUBJECT = Subject(
    rows=(
        Row('swift.obj.replicator:ObjectReplicator',
            'swift_lightsync.sync.replicator:LightSyncReplicator',
            (Sabotage('collect_jobs', 'replicator', 33),
             Sabotage('replicate', 'replicator', 27),
             Sabotage('revert', 'replicator', 15),
             Sabotage('update', 'replicator', 2))),
        OBJECT_SERVER),
    suites=('obj',))

PROBE = Probe(
    rows=(),
    suites=('dark_data', 'empty_device_handoff', 'object_async_update',
            'object_conditional_requests', 'object_failures',
            'object_handoff', 'object_versioning',
            'replication_servers_working', 'reserved_name'),
    cluster=('--replicator', 'lightsync'))
