# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
