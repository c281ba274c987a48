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
"""Clusters for the functional tests: real servers, real disks."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

#: Requests are logged, and no partition's turn for a full exchange comes.
OPTIONS = {
    'object-server': {'object-replicator': {'full_exchange_interval': 1e9}},
    'replication-server': {'DEFAULT': {'log_level': 'DEBUG'}}}
R3 = Policy('gold', 0, 3, part_power=5)
R5 = Policy('platinum', 1, 5, part_power=5)


@contextmanager
def object_servers(**fields):
    """
    A cluster of object-servers that is destroyed at the end.

    :param fields: of the ClusterSpec
    """
    with TemporaryDirectory(prefix='ls-') as root:
        cluster = Cluster(ClusterSpec(**dict({
            'root': root, 'base_port': free_base_port(),
            'services': ('object',), 'policies': (R3, R5),
            'options': OPTIONS}, **fields)))
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.destroy()


def play_round(cluster, nodes=None, args=()):
    """
    Run one pass on nodes, all at once, as the daemons of a cluster do.

    :returns: a dict of node -> its log
    """
    nodes = nodes or cluster.spec.node_numbers()
    with ThreadPoolExecutor(len(nodes)) as pool:
        passes = pool.map(
            lambda node: cluster.replicate_once(node, args=args)[0], nodes)
        return {node: done.stderr for node, done in zip(nodes, passes)}
