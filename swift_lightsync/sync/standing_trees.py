# SPDX-License-Identifier: Apache-2.0
"""The trees of the standing sets that peers ask this object-server about.

They answer a question without looking at partitions that nobody changed.
PROTOCOL.md, "What is kept between passes".
"""

import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from swift.common.concurrency import patcher
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import EC_POLICY, POLICIES, StoragePolicy

from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.idleness import IDLE
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet, leaf_of
from swift_lightsync.sync.device_watch import DeviceWatch
from swift_lightsync.sync.fingerprint_memory import give_memory_back
from swift_lightsync.sync.fingerprints import Fingerprints

#: Partitions of the shortest set that a tree is kept of.
SMALLEST = 64
#: Partitions of all trees together, at 40 bytes each.
CAPACITY = 4 << 20
#: Most partitions that are looked at again before a tree answers.
MAX_CHANGED = 4096
#: Seconds to wait for another thread; then the question is answered without.
LOCK_TIMEOUT = 1


class Tree:
    """A standing set, and the roots of its partitions.

    :param items: the set
    """

    def __init__(self, items: CompactSet) -> None:
        self.items = items
        #: None until all roots were read.
        self.roots: RootTree | None = None
        #: Places of the partitions that changed since they were read.
        self.changed: set[int] = set()
        #: Whether a question was answered by it.
        self.used = False


class StandingTrees:
    """Answers questions about standing sets.

    Its methods block, and only one runs at a time: call them in threads.

    :param watch: the devices
    :param prints: returns the fingerprints of a policy
    :param activity: when the rounds of the devices were played
    """

    def __init__(self, watch: DeviceWatch,
                 prints: Callable[[StoragePolicy], Fingerprints],
                 activity: Activity) -> None:
        self._watch = watch
        self._prints = prints
        self._activity = activity
        #: By the digests of the sets, the one used last at the end.
        self._trees: OrderedDict[bytes, Tree] = OrderedDict()
        self._lock = patcher.original('threading').Lock()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Keep others out, unless one hangs: then the context is False."""
        got = self._lock.acquire(timeout=LOCK_TIMEOUT)
        try:
            yield got
        finally:
            if got:
                self._lock.release()

    def devices(self, digest: bytes, count: int) -> Sequence[str]:
        """Return the devices of a set; none if there is no tree of it.

        :param digest: of the set
        :param count: how many partitions it is said to have
        """
        tree = self._trees.get(digest)
        return tree.items.devices if tree and tree.roots and len(
            tree.items) == count else ()

    def differing(self, digest: bytes,
                  theirs: Sequence[str]) -> list[int] | None:
        """Compare the slices of a standing set.

        :param digest: of the set
        :param theirs: the roots of its slices, as asked
        :returns: the indices of the slices that differ; None if that has to
            be found in another way
        """
        with self._alone() as alone:
            tree = self._trees.get(digest)
            if not alone or tree is None or tree.roots is None \
                    or not self._look(tree.items.devices) \
                    or not self._renew(tree):
                return None
            self._trees.move_to_end(digest)
            if not tree.used:
                tree.used = True
                self._forget_fingerprints(tree.items)
            return [index for index, (root, ours) in enumerate(zip(
                theirs, tree.roots.slice_roots(len(theirs))))
                if root != ours]

    def differing_items(self, items: SharedSet,
                        theirs: Sequence[str]) -> list[int] | None:
        """Compare partitions one by one, all of which are in some tree.

        :param items: the partitions
        :param theirs: their roots, as of slices of one
        :returns: as :meth:`differing`
        """
        if not self._trees or len(theirs) != len(items):
            return None
        with self._alone() as alone:
            if not alone or not self._look(items.devices):
                return None
            trees = [tree for tree in self._trees.values() if tree.roots]
            found: list[int] = []
            for index, (item, root) in enumerate(zip(items, theirs)):
                leaf = self._leaf(trees, item)
                if leaf is None:
                    return None
                if leaf.hex() != root:
                    found.append(index)
            return found

    def _forget_fingerprints(self, items: CompactSet) -> None:
        """Give back what was remembered of partitions one by one."""
        for index, device in items.sections:
            self._prints(POLICIES.get_by_index(index)).forget(device)
        give_memory_back()

    def _leaf(self, trees: Sequence[Tree],
              item: SharedItem) -> bytes | None:
        """Return the leaf of a partition, if one of the trees has it."""
        for tree in trees:
            place = tree.items.place(*item)
            if place is not None and tree.roots:
                if place in tree.changed and not self._renew(tree):
                    return None
                return tree.roots.leaf(place)
        return None

    def begin(self, items: SharedSet) -> Tree | None:
        """Begin to keep a tree, before its roots are read.

        :param items: the set
        :returns: the tree, for :meth:`keep`; None if none is to be kept
        """
        if len(items) < SMALLEST:
            return None
        with self._alone() as alone:
            tree = self._trees.get(items.digest)
            if not alone or tree and tree.roots:
                return None
            for device in items.devices:
                policies = _policies(items, device)
                if any(policy.policy_type == EC_POLICY
                       for policy in policies):
                    # The journal says nothing of them.
                    return None
                if not self._watch.is_watched(device, policies):
                    # Others' trees would not hear of what came before.
                    self._drop(device)
                    if not self._watch.begin(device, policies):
                        return None
            tree = self._trees.setdefault(items.digest,
                                          Tree(CompactSet(items)))
            while sum(len(each.items) for each in self._trees.values()
                      ) > CAPACITY:
                self._trees.popitem(last=False)
            return tree

    def keep(self, tree: Tree, items: SharedSet,
             roots: Mapping[SharedItem, str]) -> None:
        """Keep the roots that were read after :meth:`begin`.

        :param tree: what that returned
        :param items: the set
        :param roots: the root of each partition that could be read
        """
        with self._alone() as alone:
            if alone and self._trees.get(items.digest) is tree \
                    and not tree.roots and len(roots) == len(items):
                tree.roots = RootTree(leaf_of(item, roots[item])
                                      for item in items)

    def _look(self, devices: Sequence[str]) -> bool:
        """Take note of what changed on devices.

        :returns: False if that is not known of one of them
        """
        known = True
        for device in devices:
            if self._activity.idle_seconds(device) >= IDLE:
                # Nobody scrubs it. What changes is in the journal until then.
                known = False
                continue
            changed = self._watch.changes(device)
            if changed is None:
                self._drop(device)
                known = False
                continue
            for policy, partition in changed:
                for tree in self._trees.values():
                    place = tree.items.place(policy, device, partition)
                    if place is not None:
                        tree.changed.add(place)
        return known

    def _drop(self, device: str) -> None:
        self._watch.forget(device)
        for digest in [digest for digest, tree in self._trees.items()
                       if device in tree.items.devices]:
            del self._trees[digest]

    def _renew(self, tree: Tree) -> bool:
        """Look again at what changed; return False if that fails."""
        assert tree.roots
        if len(tree.changed) > MAX_CHANGED:
            return False
        groups: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
        for place in tree.changed:
            policy, device, partition = tree.items.item(place)
            groups[policy, device][partition] = place
        for (policy, device), places in groups.items():
            try:
                roots = self._prints(POLICIES.get_by_index(policy)).roots(
                    device, places)
            except DiskFileDeviceUnavailable:
                return False
            for partition, root in roots.items():
                place = places[partition]
                tree.roots.replace(place, leaf_of(
                    (policy, device, partition), root))
                tree.changed.discard(place)
        return not tree.changed


def _policies(items: SharedSet, device: str) -> list[StoragePolicy]:
    """Return the policies of a device's partitions in a set."""
    found = [POLICIES.get_by_index(index) for index in sorted(
        {policy for policy, name, _ in items if name == device})]
    return [policy for policy in found if policy is not None]
