# SPDX-License-Identifier: Apache-2.0
"""What happens to which object: decided by the number of files alone."""

import random
from dataclasses import dataclass

from tools.demonstration.client import ObjectName

#: with fewer, the uploads of the second act are over before a server is dead
MIN_FILES = 600
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


@dataclass(frozen=True)
class SmallPlan:
    """
    :param uploads: a dict of container -> tuple of (ObjectName, LocalFile);
        each container gets the same files
    :param additions: such a tuple, for the last of the containers
    :param deletes: tuple of ObjectNames from the uploads to the last
    """

    uploads: dict
    additions: tuple
    deletes: tuple


def small_files_needed(count):
    """:returns: how many small files go with so many files of the Plan"""
    return count // 3 + count // 6


def _to(container, files):
    return tuple((ObjectName(container, each.name), each) for each in files)


def _to_each(containers, files):
    return {container: _to(container, files) for container in containers}


def make_small_plan(files, count, containers):
    """
    :param files: as many LocalFiles as small_files_needed(count)
    :param count: how many files the Plan has, at least MIN_FILES
    :param containers: names of the containers, a list
    :returns: a SmallPlan
    """
    files = list(files)
    random.Random(SEED).shuffle(files)
    same, new = files[:count // 3], files[count // 3:]
    uploads = _to_each(containers, same)
    last = containers[-1]
    return SmallPlan(
        uploads=uploads, additions=_to(last, new),
        deletes=tuple(where for where, _ in uploads[last][::DELETED]))


#: how many files of the third act are for what; RolePlan says for what
WATCHED, HELD_UP, LAST, LATER = 40, 48, 90, 45
LARGE = 12
ROLE_FILES = WATCHED + HELD_UP + LAST + LATER


@dataclass(frozen=True)
class RolePlan:
    """
    :param small, large: dicts of container -> tuple of (ObjectName,
        LocalFile); each container gets the same files
    :param held_up: such a dict, for while a server does not answer
    :param last: such a tuple, for the last of the containers, before a
        server dies
    :param later: such a tuple, while it is dead
    """

    small: dict
    large: dict
    held_up: dict
    last: tuple
    later: tuple


def make_role_plan(small, large, containers):
    """
    :param small: ROLE_FILES LocalFiles
    :param large: LARGE of them
    :param containers: names of the containers, a list
    :returns: a RolePlan
    """
    def take(count):
        return [next(files) for _ in range(count)]

    small = list(small)
    random.Random(SEED).shuffle(small)
    files = iter(small)
    last = containers[-1]
    return RolePlan(
        small=_to_each(containers, take(WATCHED)),
        large=_to_each(containers, large),
        held_up=_to_each(containers, take(HELD_UP)),
        last=_to(last, take(LAST)), later=_to(last, take(LATER)))
