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
"""What tests of requests to objects share."""

from tests.unit.versioning.proxies import Pipeline


class ObjectCase:
    """A versioned container in a mode; a mixin of test cases."""

    mode = None
    options = {}

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, self.mode, **self.options)
        self.ask('PUT', 'c', {'X-Versions-Enabled': 'true'})

    def suspend(self):
        self.ask('POST', 'c', {'X-Versions-Enabled': 'false'})

    def status(self, method, path='c/o', **more):
        return self.ask(method, path, **more).status_int

    def body(self, query='', path='c/o'):
        resp = self.ask('GET', path, query=query)
        return resp.body if resp.status_int == 200 else resp.status_int

    def one(self, version, path='c/o'):
        return self.body('version-id=' + version, path)
