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
"""One operation of one worker, as it happened."""

from typing import NamedTuple, Optional


class Sample(NamedTuple):
    """
    Times are seconds of the driver's monotonic clock, with intended and
    started <= first_byte <= ended.
    """

    #: ``Operation.id``.
    operation: str
    #: When it was due; at a closed loop that is when it started.
    intended: float
    started: float
    #: When the head of the response was there.
    first_byte: float
    ended: float
    #: Bytes of payload that were moved.
    size: int
    #: None: success; else a short class, as 'http 503' or 'timeout'.
    error: Optional[str] = None
