# SPDX-License-Identifier: Apache-2.0
"""The development cluster; README.md has its interface."""

from tools.cluster.cluster import Cluster
from tools.cluster.network import Counters, NodeStatus, Reachability
from tools.cluster.ports import free_base_port
from tools.cluster.spec import ClusterSpec, Policy

__all__ = ['Cluster', 'ClusterSpec', 'Counters', 'NodeStatus',
           'Policy', 'Reachability', 'free_base_port']
