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
"""What happens to which object: decided by the number of files alone."""

from dataclasses import dataclass
import random

from tools.demonstration.client import ObjectName

MIN_FILES = 20
#: of all files: overwritten, deleted and added while the node is away
OVERWRITTEN = DELETED = 10
ADDED = 15
SEED = 'demo'


@dataclass(frozen=True)
class Plan:
    """
    :param uploads: tuple of (ObjectName, LocalFile), before the failure
    :param overwrites: such a tuple; names from uploads, other files
    :param deletes: tuple of ObjectNames from uploads, not overwritten
    :param additions: tuple of (ObjectName, LocalFile); new names
    """

    uploads: tuple
    overwrites: tuple
    deletes: tuple
    additions: tuple


def files_needed(count):
    """:returns: how many files a plan with this many uploads needs"""
    return count + count // OVERWRITTEN + count // ADDED


def make_plan(files, count, containers):
    """
    :param files: as many LocalFiles as files_needed(count)
    :param count: how many of them to upload, at least MIN_FILES
    :param containers: names of the containers, which take turns
    :returns: a Plan
    """
    files = list(files)
    random.Random(SEED).shuffle(files)
    items = [(ObjectName(containers[i % len(containers)], each.name), each)
             for i, each in enumerate(files)]
    uploads, rest = items[:count], items[count:]
    overwritten = count // OVERWRITTEN
    return Plan(
        uploads=tuple(uploads),
        overwrites=tuple(
            (where, other) for (where, _), (_, other)
            in zip(uploads, rest[:overwritten])),
        deletes=tuple(where for where, _ in uploads[
            overwritten:overwritten + count // DELETED]),
        additions=tuple(rest[overwritten:]))
