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
"""0004: what is below a partition is reached through the manager."""


def test_objects_are_found_where_the_manager_looks_for_them(
        patched, tmp_path):
    assert patched.result('elsewhere.py', tmp_path / 'devices') == {
        'objects': ['data', 'deleted'],
        'suffixes': True,
        'files': ['0000000002.00000.data'],
        'yielded': 2,
        'audited': 2,
        'name': '/a/c/kept',
        'unused': ['is_file_older']}


def test_stock_looks_below_the_partition_for_itself(stock, tmp_path):
    done = stock.run('elsewhere.py', tmp_path / 'devices')
    assert done.returncode
    assert 'DiskFileNotExist' in done.stderr
