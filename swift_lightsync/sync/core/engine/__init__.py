# SPDX-License-Identifier: Apache-2.0
"""The engine of a replication pass, without I/O.

It consists of processes: generators that yield what they want done
(``actions``), and are sent what came of it. The replicator performs the
actions in greenlets, the simulator in virtual time, so that what is simulated
is what runs.
"""
