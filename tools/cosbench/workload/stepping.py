# SPDX-License-Identifier: Apache-2.0
"""A workload whose main stage is repeated with ever more workers."""

from dataclasses import replace

from cosbench.errors import ConfigError

#: Between the name of the stage and the workers of a step.
MARK = '-workers-'


def _is_normal(work):
    return work.attributes.get('type', 'normal').strip().lower() == 'normal'


def _works(stage):
    return [each for each in stage.children if each.tag == 'work']


def _name(stage):
    return stage.attributes.get('name', '').strip()


def stepped(root, counts, stage=None):
    """
    :param root: the ``Element`` of a workload
    :param counts: of workers, one a step; each normal work has as many
    :param stage: the name of the stage to repeat; None: the only one that
        has a normal work
    :returns: (a root ``Element``, the names of the steps, in order); other
        stages are as they were
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


def _step(stage, count):
    children = [_with_workers(each, count) if each.tag == 'work'
                and _is_normal(each) else each for each in stage.children]
    name = '%s%s%d' % (_name(stage), MARK, count)
    return replace(stage, attributes={**stage.attributes, 'name': name},
                   children=children)


def _with_workers(work, count):
    return replace(work, attributes={**work.attributes,
                                     'workers': str(count)})


def _replaced(element, old, new):
    children = []
    for child in element.children:
        children += new if child is old else [_replaced(child, old, new)]
    return replace(element, children=children)
