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
"""0003: changed.pkl does not keep an old partition from its cleanup."""


def test_stock_leaves_an_old_partition_with_changed_pkl(stock, tmp_path):
    assert stock.result('relink.py', 'changed.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['3', '7']}


def test_old_partition_with_changed_pkl_is_removed(patched, tmp_path):
    assert patched.result('relink.py', 'changed.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['7']}


def test_old_partition_with_an_unknown_file_is_left(either, tmp_path):
    assert either.result('relink.py', 'unknown', tmp_path) == {
        'before': ['3', '7'], 'after': ['3', '7']}


def test_old_partition_with_nothing_else_is_removed(either, tmp_path):
    assert either.result('relink.py', 'hashes.pkl', tmp_path) == {
        'before': ['3', '7'], 'after': ['7']}
