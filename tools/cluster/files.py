# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a cluster: confs, rings, launchers, its spec."""

import os
import shutil

from tools.cluster import launchers, rings
from tools.cluster.conf import ConfRenderer


def write(spec, layout, network, mount_check):
    """
    Write all of them anew; they follow from the spec alone.

    :param spec: the ClusterSpec
    :param layout: its Layout
    :param network: its network
    :param mount_check: whether devices are mounts
    """
    for path in (layout.run, layout.logs):
        os.makedirs(path, exist_ok=True)
    for node in spec.node_numbers():
        os.makedirs(layout.cache_dir(node), exist_ok=True)
        os.makedirs(layout.node_dir(node), exist_ok=True)
    shutil.rmtree(layout.etc, ignore_errors=True)
    renderer = ConfRenderer(spec, layout, network, mount_check)
    for path, text in renderer.render().items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as conf:
            conf.write(text)
    rings.build(spec, layout, network)
    launchers.write(layout, network.namespaces)
    write_spec(spec, layout)


def write_spec(spec, layout):
    """Write down what a Cluster is opened by."""
    os.makedirs(spec.root, exist_ok=True)
    with open(layout.spec, 'w') as out:
        out.write(spec.to_json())
