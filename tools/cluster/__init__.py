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
"""The development cluster; README.md has its interface."""

from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError
from tools.cluster.network import Counters, Reachability
from tools.cluster.ports import free_base_port
from tools.cluster.spec import ClusterSpec, Policy
from tools.cluster.status import NodeStatus

__all__ = ['Cluster', 'ClusterError', 'ClusterSpec', 'Counters',
           'NodeStatus', 'Policy', 'Reachability', 'free_base_port']
