# SPDX-License-Identifier: Apache-2.0
"""
What happens to a cluster before a pass is measured: scenario -> steps.

A step is a function of a Trial. LightSync §3 and §6 measure these states.
"""

from tools.benchmarks.sync.dataset import Changes


def create(trial):
    """10 % new objects, each at a quorum of its replicas."""
    trial.change(Changes.creations)


def delete(trial):
    """10 % of the objects deleted, each at a quorum of its replicas."""
    trial.change(Changes.deletions)


def rewrite(trial):
    """10 % of the objects deleted and created anew on all live nodes."""
    trial.change(Changes.rewrites)


def kill(trial):
    """One node dies; its ports refuse."""
    trial.lose_node(lambda cluster, node: cluster.kill(node),
                    lambda cluster, node: cluster.start(node))


def silence(trial):
    """One node falls silent: no packet goes in or out."""
    trial.lose_node(
        lambda cluster, node: cluster.partition(node, refuse=False),
        lambda cluster, node: cluster.heal(node))


def replicate(trial):
    """A pass of the live nodes that is not measured."""
    trial.replicate()


def rejoin(trial):
    """The lost node comes back."""
    trial.find_node()


SCENARIOS = {
    'stable': (),
    'create': (create,),
    'delete': (delete,),
    'dead-refused': (kill,),
    'dead-silent': (silence,),
    'rejoin': (kill, rewrite, replicate, rejoin),
}
