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
LIGHTSYNC: the object-server's side of a sync message.

LightSync §5.2-5.3. ``LIGHTSYNC /<device>/roots`` carries the roots of
partitions; the reply names those whose root is another one here. PROTOCOL.md,
"The sync message".
"""

from itertools import islice

from swift.common.base_storage_server import timing_stats
from swift.common.concurrency import tpool
from swift.common.exceptions import ChunkReadTimeout, \
    DiskFileDeviceUnavailable
from swift.common.request_helpers import get_name_and_placement
from swift.common.swob import HTTPBadRequest, HTTPInsufficientStorage, \
    HTTPLengthRequired, HTTPRequestEntityTooLarge, HTTPRequestTimeout, \
    Response
from swift.common.utils import public, replication

from swift_lightsync.sync import sync_message
from swift_lightsync.sync.fingerprint import Fingerprints

#: What of a device a sync message is about: the end of its path.
ROOTS = 'roots'
#: Partitions that one visit to the thread pool looks at.
SLICE = 64


class LightSyncVerb:
    """To be mixed into an object-server's controller."""

    @public
    @replication
    @timing_stats(sample_rate=0.1)
    def LIGHTSYNC(self, request):
        """
        Compare the roots that a peer sent with those of a local device.

        :param request: a swob.Request; its path names the device, its
            ``X-Backend-Storage-Policy-Index`` the policy
        :returns: 200 with the partitions that differ; 400 for what is no sync
            message, 408 for one that does not come in time, 411 and 413 for
            a length that is missing or too large, 507 if the device is not
            mounted
        """
        device, what, more, policy = get_name_and_placement(
            request, 2, 3, True)
        if not self._diskfile_router[policy].get_dev_path(device):
            return HTTPInsufficientStorage(drive=device, request=request)
        if what != ROOTS or more:
            return HTTPBadRequest(
                request=request, body='LIGHTSYNC of %s, must be of /%s/%s'
                % (request.path, device, ROOTS))
        try:
            roots = sync_message.decode_roots(
                _read_body(request, self.client_timeout))
        except sync_message.SyncMessageError as err:
            return HTTPBadRequest(request=request, body=str(err))
        try:
            differing = self._differing(device, policy, roots)
        except DiskFileDeviceUnavailable:
            return HTTPInsufficientStorage(drive=device, request=request)
        return Response(request=request,
                        content_type='application/octet-stream',
                        body=sync_message.encode_differing(differing))

    def _differing(self, device, policy, roots):
        fingerprints = Fingerprints(self._diskfile_router[policy], policy,
                                    self.logger)

        def compare(entries):
            return [partition for partition, root in entries
                    if fingerprints.get(device, partition)[1].root != root]

        differing = []
        entries = iter(roots.items())
        while part := list(islice(entries, SLICE)):
            differing += tpool.execute(compare, part)
        return differing


def _read_body(request, timeout):
    try:
        length = request.message_length()
    except (ValueError, AttributeError) as err:
        raise HTTPBadRequest(request=request, body=str(err))
    if length is None:
        raise HTTPLengthRequired(request=request)
    if length < 0:
        raise HTTPBadRequest(request=request,
                             body='Invalid Content-Length: %d' % length)
    if length > sync_message.MAX_BYTES:
        raise HTTPRequestEntityTooLarge(
            request=request, body='Sync message: %d bytes, at most %d'
            % (length, sync_message.MAX_BYTES))
    try:
        with ChunkReadTimeout(timeout):
            return request.environ['wsgi.input'].read(length)
    except ChunkReadTimeout:
        raise HTTPRequestTimeout(request=request)
