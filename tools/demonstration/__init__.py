# SPDX-License-Identifier: Apache-2.0
"""
``tools/demo``: a node of a real cluster is lost and comes back; servers of
volumes are killed amid uploads; a primary role dies with what it alone has;
sites that cannot reach each other write the same object.

cli         the command line
act         what the acts have in common
lost_node   the first act: LightSync and stock Swift repair the same disks
volumes     the second act: small objects in files and in volumes
roles       the third act: writes at a quorum and at the primary role
versions    the fourth act: concurrent writes at three sites
stage       the directory, the clusters, the copy from one to the other
plan        what happens to which object
catalogue   the local files that become objects
client      what a user does: put, delete, get, many at a time
stored      what is on a device, in directories and in volumes
copies      which devices have an object at this moment
replicas    what is on all of them, and whether all replicas are identical
footprint   how many files, directories and bytes that costs the disks
passes      replication passes and what they cost
comparison  what two repairs took, side by side
writes      how long writes took, and how many copies there were then
history     the versions of an object at a site, and whether sites agree
epilogue    how to go on
show        scenes, progress and the table on the terminal
"""
