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
"""JSON that is put together of parts that are JSON already.

What has long parts is an iterable of texts to join, so that each is copied
once.
"""

import json


def dumps(value):
    """
    :returns: JSON without blanks
    """
    return json.dumps(value, separators=(',', ':'))


def extended(fields, **parts):
    """
    :param fields: a dict, not empty
    :param parts: further keys, whose values are texts that join to JSON
    :returns: an iterator over texts that join to an object that has both
    """
    yield dumps(fields)[:-1]
    for key, texts in parts.items():
        yield ',"%s":' % key
        yield from texts
    yield '}'


def array(items):
    """
    :param items: each texts that join to JSON
    :returns: an iterator over texts that join to a list of them
    """
    yield '['
    for number, texts in enumerate(items):
        if number:
            yield ','
        yield from texts
    yield ']'
