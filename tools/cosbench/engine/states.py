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
"""The states of a mission on a driver, and which may follow which."""

from enum import Enum


class MissionState(Enum):

    #: The storage is opened, which logs in.
    AUTHING = 'authing'
    #: It waits to be started.
    READY = 'ready'
    #: It begins when the agreed delay is over.
    LAUNCHING = 'launching'
    RUNNING = 'running'
    #: No operation starts any more; the last ones end.
    CLOSING = 'closing'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'

    @property
    def final(self):
        return not FOLLOWERS[self]


_S = MissionState
FOLLOWERS = {
    _S.AUTHING: {_S.READY, _S.FAILED, _S.CANCELLED},
    _S.READY: {_S.LAUNCHING, _S.FAILED, _S.CANCELLED},
    _S.LAUNCHING: {_S.RUNNING, _S.FAILED, _S.CANCELLED},
    _S.RUNNING: {_S.CLOSING, _S.FAILED, _S.CANCELLED},
    _S.CLOSING: {_S.COMPLETED, _S.FAILED, _S.CANCELLED},
    _S.COMPLETED: set(),
    _S.FAILED: set(),
    _S.CANCELLED: set(),
}
