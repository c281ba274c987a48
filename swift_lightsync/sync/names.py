# SPDX-License-Identifier: Apache-2.0
"""The names that LightSync uses on the wire and on disk."""

# The path of a LIGHTSYNC request ends with what it is about.
#: The roots of partitions of all devices that two nodes share.
ROOTS = 'roots'
#: The suffix hashes of partitions.
SUFFIXES = 'suffixes'
#: Objects that the device may lack.
MISSING = 'missing'
#: Suffixes that rsync wrote to, which the server has not noticed.
REHASH = 'rehash'
#: A notice that another node has failed.
NOTICE = 'notice'

POLICY_HEADER = 'X-Backend-Storage-Policy-Index'
#: The node that sends a sync message: IP:port.
SENDER_HEADER = 'X-Backend-Lightsync-Sender'
#: For how many seconds the sender waits for an answer.
PATIENCE_HEADER = 'X-Backend-Lightsync-Patience'
#: The partitions belong to the receiver, as the sender's ring has it, and are
#: removed by the sender once they are there.
HAND_OFF_HEADER = 'X-Backend-Lightsync-Hand-Off'

#: In each partition directory: the root of the partition.
CHANGED_FILE = 'changed.pkl'
#: In recon_cache_path: the failure table.
FAILURES_FILE = 'lightsync-failures.json'
#: There, for each device: its mtime is when its rounds were last played.
ROUNDS_FILE = 'lightsync-rounds.%s'
#: In each device's directory: which partitions changed.
JOURNAL_FILE = 'lightsync.journal'
#: In recon_cache_path: changes when writers of journals begin.
WRITERS_FILE = 'lightsync-writers'
