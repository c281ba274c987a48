# SPDX-License-Identifier: Apache-2.0
"""
Pushing by rsync what a neighbour lacks of many partitions at once.
"""

from tempfile import NamedTemporaryFile


def push(daemon, node, jobs, paths):
    """
    Push files by one rsync, with the flags of stock Swift.

    :param daemon: the :class:`LightSyncReplicator`
    :param node: the device to push to
    :param jobs: jobs of the partitions, all of one device and policy, with
        the suffixes of each that are concerned: a list of tuples
    :param paths: what to push, relative to the objects directory
    :returns: True if all of it was pushed
    """
    command = next(filter(None, (
        daemon.rsync_argv(node, job, suffixes) for job, suffixes in jobs)),
        None)
    if command is None:
        return False
    flags = [each for each in command[:-1]
             if each == 'rsync' or each.startswith('--')]
    target, _, _ = command[-1].rpartition('/')
    with NamedTemporaryFile('w', prefix='lightsync-', suffix='.list',
                            encoding='utf8', errors='surrogateescape',
                            newline='') as listed:
        # A name may have a line feed in it; all have an end.
        listed.writelines(path + '\0' for path in paths)
        listed.flush()
        return daemon._rsync(flags + [
            '--from0', '--files-from=' + listed.name,
            # What has gone meanwhile is no longer to be pushed.
            '--ignore-missing-args',
            jobs[0][0]['obj_path'] + '/', target + '/']) == 0
