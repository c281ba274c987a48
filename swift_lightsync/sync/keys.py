# SPDX-License-Identifier: Apache-2.0
"""Jobs as Swift describes them, and the keys made of them and of devices."""

from typing import Any

from swift_lightsync.sync.core.device_keys import device_key, endpoint

__all__ = ['Job', 'JobKey', 'device_key', 'endpoint', 'job_key']

#: A partition to replicate, as from Swift's ``collect_jobs``: ``device``,
#: ``partition``, ``policy``, ``nodes``, ``obj_path``...
Job = dict[str, Any]
#: The device, the policy's index and the partition of a job.
JobKey = tuple[str, int, str]


def job_key(job: Job) -> JobKey:
    """Return what tells a job from the others of a pass."""
    return job['device'], int(job['policy']), job['partition']
