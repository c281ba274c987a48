# SPDX-License-Identifier: Apache-2.0
"""A workload whose main stage is repeated with ever more workers."""

from collections.abc import Sequence
from dataclasses import replace

from cosbench.errors import ConfigError
from cosbench.workload.elements import Element

#: Between the name of the stage and the workers of a step.
MARK = '-workers-'


def _is_normal(work: Element) -> bool:
    return work.attributes.get('type', 'normal').strip().lower() == 'normal'


def _works(stage: Element) -> list[Element]:
    return [each for each in stage.children if each.tag == 'work']


def _name(stage: Element) -> str:
    return stage.attributes.get('name', '').strip()


def stepped(root: Element, counts: Sequence[int],
            stage: str | None = None) -> tuple[Element, list[str]]:
    """Return a workload in which steps stand in the place of a stage.

    :param root: of a workload; it stays as it is
    :param counts: of workers, one a step; each normal work has as many
    :param stage: the name of the stage to repeat; None: the only one that
        has a normal work
    :returns: (the root of a workload whose other stages are the same, the
        names of the steps, in order)
    :raises ConfigError: if it is not clear which stage is meant
    """
    stages = [each for flow in root.children if flow.tag == 'workflow'
              for each in flow.children if each.tag == 'workstage']
    ramped = [each for each in stages
              if any(map(_is_normal, _works(each)))
              and stage in (None, _name(each))]
    if len(ramped) != 1:
        allowed = ', '.join(_name(each) for each in stages)
        raise ConfigError.of('stage', stage or '', 'the one stage with '
                             'works of type normal that is meant, of %s'
                             % allowed)
    steps = [_step(ramped[0], count) for count in counts]
    return _replaced(root, ramped[0], steps), [_name(each) for each in steps]


def _step(stage: Element, count: int) -> Element:
    children = [_with_workers(each, count) if each.tag == 'work'
                and _is_normal(each) else each for each in stage.children]
    name = '%s%s%d' % (_name(stage), MARK, count)
    return replace(stage, attributes={**stage.attributes, 'name': name},
                   children=children)


def _with_workers(work: Element, count: int) -> Element:
    return replace(work, attributes={**work.attributes,
                                     'workers': str(count)})


def _replaced(element: Element, old: Element,
              new: Sequence[Element]) -> Element:
    children: list[Element] = []
    for child in element.children:
        children += new if child is old else [_replaced(child, old, new)]
    return replace(element, children=children)
