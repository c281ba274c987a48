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
"""The states of workloads and stages, as COSBench names them."""

from enum import Enum


class WorkloadState(Enum):

    QUEUING = 'queuing'
    PROCESSING = 'processing'
    FINISHED = 'finished'
    #: A stage failed; those after it ran nevertheless.
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    #: The controller died in it.
    TERMINATED = 'terminated'

    @property
    def final(self):
        return self not in (WorkloadState.QUEUING, WorkloadState.PROCESSING)


class StageState(Enum):

    WAITING = 'waiting'
    BOOTING = 'booting'
    #: Missions go to the drivers.
    SUBMITTING = 'submitting'
    #: Storages are opened.
    AUTHING = 'authing'
    LAUNCHING = 'launching'
    RUNNING = 'running'
    #: The closure delay.
    CLOSING = 'closing'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    TERMINATED = 'terminated'
    #: Never begun, and never will be.
    SKIPPED = 'skipped'

    @property
    def final(self):
        return self in _FINAL


_S = StageState
_FINAL = (_S.COMPLETED, _S.FAILED, _S.CANCELLED, _S.TERMINATED, _S.SKIPPED)


class OnLoss(Enum):
    """What is done when a driver is lost in the middle of a work."""

    #: The work has failed: what it measured is not what was asked for.
    FAIL = 'fail'
    #: Other drivers take its workers over; the result says so.
    REDISTRIBUTE = 'redistribute'
