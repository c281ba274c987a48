# SPDX-License-Identifier: Apache-2.0
"""Plans of experiments, for the tests of what reads them."""

from cosbench.experiment.book import Configuration, Plan
from tests.unit.cosbench.documents import reads

XML = reads('workers="2" totalOps="20"')


def plan(*names, seed=7, warm_up=0, **documents):
    return Plan(1, seed, 1, warm_up, tuple(
        Configuration(name, documents.get(name, XML)) for name in names))
