# SPDX-License-Identifier: Apache-2.0
"""
``tools/demo``: a node of a real cluster is lost and comes back; servers of
volumes are killed amid uploads; a primary role dies with what it alone has;
sites that cannot reach each other write the same object.

cli         the command line, and the table of verdicts
act         what the acts have in common
lost_node   the first act: LightSync and stock Swift repair the same disks
volumes     the second act: small objects in files and in volumes
roles       the third act: writes at a quorum and at the primary role
versions    the fourth act: concurrent writes at three sites
stage       the directory, the clusters, the copy from one to the other
users       local files, and what users do with them
survey      what is on the disks, and whether all replicas are identical
passes      replication passes and what they cost
traffic     how much the nodes of a cluster send each other
show        scenes, steps and tables on the terminal
removal     ``--down``: what removes all of it
"""
