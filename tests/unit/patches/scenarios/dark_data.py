# SPDX-License-Identifier: Apache-2.0
"""Shows dark objects to the dark data watcher, whose action is delete.

One is a file; another's diskfile manager keeps no files in directories.
Prints, as JSON, what the manager was asked to delete, whether the file is
left, and how many errors were logged.
"""

import json
import os
import sys
from unittest import mock

import swift
from swift.common.storage_policy import POLICIES
from swift.common.utils import Timestamp, get_logger
from swift.obj import auditor
from swift.obj.watchers import dark_data


def main(root, kind):
    os.makedirs(os.path.join(root, 'sda'))
    logger = get_logger({}, log_route='dark')
    with mock.patch.object(dark_data, 'Ring'):
        worker = auditor.AuditorWorker(
            {'devices': root, 'mount_check': 'false'}, logger,
            os.path.join(root, 'recon'), root,
            watcher_defs={'dark_data': {
                'klass': dark_data.DarkDataWatcher,
                'conf': {'action': 'delete', 'grace_age': '0'}}})
    manager = worker.diskfile_router[POLICIES.default]
    df = manager.get_diskfile('sda', '5', 'a', 'c', 'o', POLICIES.default)
    with df.create() as writer:
        writer.put({'X-Timestamp': Timestamp(1).internal,
                    'Content-Length': '0',
                    'ETag': 'd41d8cd98f00b204e9800998ecf8427e'})
        writer.commit(Timestamp(1))
    deleted = []
    if kind == 'packed':
        manager.delete_hash_dir = lambda *args: deleted.append(
            [*args[:2], int(args[3])])
    with mock.patch.object(dark_data, 'get_info_1', return_value=None), \
            mock.patch.object(logger.logger, 'handle') as handle:
        worker.audit_all_objects()
    print(json.dumps({
        'swift': swift.__file__, 'deleted': deleted,
        'left': os.path.exists(df._datadir),
        'errors': sum(call.args[0].levelname == 'ERROR'
                      for call in handle.mock_calls)}))


main(*sys.argv[1:])
