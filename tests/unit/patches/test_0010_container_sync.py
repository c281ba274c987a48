# SPDX-License-Identifier: Apache-2.0
"""0010: container_sync looks up only the containers that it judges by."""

import json

import pytest

TO = {'X-Container-Sync-To': '//realm/cluster/a/c'}
#: request -> (status, whether the container was looked up)
REQUESTS = [
    ('GET', 'c/o', {}, 200, False), ('PUT', 'c/o', TO, 200, False),
    ('PUT', 'c', {}, 200, False), ('POST', 'c', TO, 200, True),
    ('POST', 'versioned', TO, 400, True),
    ('POST', 'versioned', {}, 200, False),
    ('PUT', 'c/o', {'X-Container-Sync-Auth': 'none nonce sig'}, 401, False),
    ('PUT', 'c/o', {'X-Container-Sync-Auth': 'realm nonce sig'}, 401, True),
    ('PUT', 'c/o', {'X-Container-Sync-Auth': 'realm nonce right'}, 200,
     True)]


@pytest.mark.parametrize('swift', ['stock', 'patched'])
def test_answers_stay_and_look_ups_go(swifts, tmp_path, swift):
    each, = swifts(swift)
    asked = [request[:3] for request in REQUESTS]
    found = each.result('container_sync_requests.py', tmp_path,
                        json.dumps(asked))
    assert found['answers'] == [
        [status, swift == 'stock' or looks_up]
        for *_, status, looks_up in REQUESTS]
