# SPDX-License-Identifier: Apache-2.0
"""The names that LightSync uses on the wire and on disk."""

#: What of a device a LIGHTSYNC request is about, the end of its path: roots of
#: partitions,
ROOTS = 'roots'
#: the suffix hashes of partitions,
SUFFIXES = 'suffixes'
#: suffixes that were written to past the server, by rsync,
MISSING = 'missing'
REHASH = 'rehash'
#: or a notice.
NOTICE = 'notice'

POLICY_HEADER = 'X-Backend-Storage-Policy-Index'
#: Who sends a sync message: IP:port/device.
SENDER_HEADER = 'X-Backend-Lightsync-Sender'
#: In the answer: seconds since the rounds of the device were last played.
IDLE_HEADER = 'X-Backend-Lightsync-Idle'

#: In each partition directory: the root of the partition.
CHANGED_FILE = 'changed.pkl'
#: In recon_cache_path: the failure table.
FAILURES_FILE = 'lightsync-failures.json'
#: There, of each device: its mtime is when its rounds were last played.
ROUNDS_FILE = 'lightsync-rounds.%s'
