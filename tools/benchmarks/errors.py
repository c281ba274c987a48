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
"""The one exception of the benchmarks: its text says what to do."""


class BenchError(Exception):
    """What is wrong, with the value and what is allowed."""


def require(name, value, allowed, good):
    """
    :param name: the option, as the user writes it
    :param value: what it was given
    :param allowed: in words, what it may be given
    :param good: whether the value is that
    :raises BenchError: if it is not
    """
    if not good:
        raise BenchError('%s is %s; allowed: %s' % (name, value, allowed))


def names(option, text, allowed):
    """
    Take a comma-separated list of names apart.

    :param option: the option, as the user writes it
    :param text: the list
    :param allowed: the names that it may have
    :returns: a tuple of the names, each of them once
    :raises BenchError: for any other name, and for none
    """
    found = tuple(dict.fromkeys(each.strip() for each in text.split(',')))
    for name in found:
        require(option, repr(name), 'a comma-separated list of '
                + ', '.join(allowed), name in allowed)
    return found
