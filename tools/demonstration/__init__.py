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
``tools/demo``: one node of a real cluster is lost and comes back.

cli        the command line
story      the scenes, in their order
stage      the directory, the two clusters, the copy from one to the other
plan       what happens to which object
catalogue  the local files that become objects
client     what a user does: put, delete, get, many at a time
replicas   what is on the devices, and whether all replicas are identical
passes     replication passes and what they cost
epilogue   the comparison, and how to go on
show       scenes, progress and the table on the terminal
"""
