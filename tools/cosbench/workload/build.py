# SPDX-License-Identifier: Apache-2.0
"""From the elements of a document to the workload that they mean.

Every rule that a document is refused for is here or in what this calls; all
that is wrong is found at once. The rules:

- operations of ratio 0 are dropped, the others sum to 100.
- a normal work has at least one limit; a special work has its own.
- a type of auth or storage that no adaptor serves is refused where it
  stands, used or not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum

from cosbench.errors import Problem, WorkloadError
from cosbench.workload import names, unknown_keys
from cosbench.workload.config import Config, Parser, choice, integer
from cosbench.workload.elements import Children, Element, Findings
from cosbench.workload.inheritance import Adaptors, Inheritance, Inherited
from cosbench.workload.model import (
    Division,
    Operation,
    Work,
    Workload,
    Workstage,
    WorkType,
)
from cosbench.workload.operations import (
    NAMED_TYPES,
    SPECIAL,
    fields,
    operation_type,
)
from cosbench.workload.pacing import log_share, pace

#: Of any number: what results can have.
MAX_INT = 10 ** 9
#: Of one work: a worker takes some kilobytes of a driver's memory.
MAX_WORKERS = 10 ** 6
MILLION = 10 ** 6
#: What COSBench accepts of a normal and of a special work, per million.
NORMAL_AFR, SPECIAL_AFR = 200000, 0
TIMES = ('rampup', 'runtime', 'rampdown')
#: What a special work sets itself.
SET_BY_SPECIAL = TIMES + ('totalOps', 'totalBytes', 'division')


def build(root: Element, adaptors: Adaptors = Adaptors()
          ) -> tuple[Workload, tuple[Problem, ...]]:
    """Build the workload that a document means.

    :returns: (the workload, warnings)
    :raises WorkloadError: with all that the document is refused for
    """
    builder = _Builder(adaptors)
    workload = builder.workload(root)
    found = builder.findings
    if found.refusals or workload is None:
        raise WorkloadError(sorted(
            found.refusals, key=lambda problem: problem.line))
    unknown_keys.warn(found, builder.inheritance.checked(workload.works),
                      builder.inheritance.asked)
    return workload, tuple(sorted(
        found.warnings, key=lambda problem: problem.line))


def _bounded(least: int, most: int = MAX_INT) -> Parser:
    return lambda key, text: integer(key, text, least, most)


def _kind(enum: type[Enum]) -> Parser:
    return lambda key, text: choice(key, text, enum)


def _unless_blank(parse: Parser) -> Parser:
    return lambda key, text: parse(key, text) if text.strip() else None


#: The element of an operation, and the operation.
_Found = tuple[Element, Operation]


class _Builder:

    def __init__(self, adaptors: Adaptors) -> None:
        self.findings = Findings()
        self.inheritance = Inheritance(adaptors, self.findings)
        self._value = self.findings.value

    def workload(self, element: Element) -> Workload | None:
        if element.tag != 'workload':
            self.findings.refuse(element, 'the root is %s: must be workload'
                                 % element.tag)
            return None
        children = self.findings.children(element)
        inherited = self.inheritance.handed_on(element, children, Inherited())
        workflows = [self._stages(child, inherited)
                     for child in self._some(element, children, 'workflow')]
        return Workload(
            self._label(element),
            element.attributes.get('description', ''),
            self._value(element, 'trigger', _unless_blank(names.trigger)),
            workflows[0] if workflows else ())

    def _stages(self, element: Element,
                inherited: Inherited) -> tuple[Workstage, ...]:
        children = self.findings.children(element)
        inherited = self.inheritance.handed_on(element, children, inherited)
        return tuple(
            self._stage(child, inherited)
            for child in self._some(element, children, 'workstage'))

    def _stage(self, element: Element,
               inherited: Inherited) -> Workstage:
        children = self.findings.children(element)
        inherited = self.inheritance.handed_on(element, children, inherited)
        name = self._label(element, forbidden='/\\;')
        delay = self._value(element, 'closuredelay', _bounded(0), 0)
        works = tuple(
            self._work(child, inherited)
            for child in self._some(element, children, 'work'))
        if not delay and any(work.type is WorkType.DELAY for work in works):
            self.findings.warn(element, 'closuredelay is 0: the delay of '
                               'this workstage takes no time')
        return Workstage(
            name, delay,
            self._value(element, 'trigger', _unless_blank(names.trigger)),
            works)

    def _work(self, element: Element, inherited: Inherited) -> Work:
        children = self.findings.children(element)
        inherited = self.inheritance.handed_on(element, children, inherited)
        kind = self._value(element, 'type', _kind(WorkType), WorkType.NORMAL)
        special = kind in SPECIAL
        work = Work(
            name=self._label(element, kind.value if special else None),
            type=kind, workers=self._workers(element, kind),
            interval=self._value(element, 'interval', _bounded(1), 5),
            **self._limits(element),
            afr=self._value(element, 'afr', _bounded(0, MILLION),
                            SPECIAL_AFR if special else NORMAL_AFR),
            driver=self._value(element, 'driver', _unless_blank(names.label)),
            config=inherited.config, auth=inherited.auth,
            storage=inherited.storage, operations=())
        with self.findings.of(element):
            log_share(work.config)
        if special:
            return self._special(element, children['operation'], work)
        return self._normal(element, children['operation'], work)

    def _limits(self, element: Element) -> dict[str, int]:
        times = {key: self._value(element, key, _bounded(0), 0)
                 for key in TIMES}
        if not times['runtime'] and any(times.values()):
            self.findings.warn(element, 'rampup and rampdown are ignored: '
                               'there is no runtime')
            times = dict.fromkeys(TIMES, 0)
        return {**times, 'total_ops': self._value(
            element, 'totalOps', _bounded(0), 0),
            'total_bytes': self._value(element, 'totalBytes', integer, 0)}

    def _workers(self, element: Element, kind: WorkType) -> int:
        if kind is WorkType.DELAY:
            return 1
        if 'workers' not in element.attributes:
            self.findings.refuse(element, 'workers is missing')
        return int(self._value(
            element, 'workers', _bounded(1, MAX_WORKERS), 1))

    def _special(self, element: Element, operations: Sequence[Element],
                 work: Work) -> Work:
        kind, division = SPECIAL[work.type]
        for key in SET_BY_SPECIAL:
            if key in element.attributes:
                self.findings.warn(element, '%s is ignored: a work of type '
                                   '%s sets it' % (key, work.type.value))
        for child in operations:
            self.findings.children(child)
            if child.attributes.get('type') != kind.value:
                self.findings.warn(child, 'ignored: a work of type %s has '
                                   'its own operation' % work.type.value)
        operation = self._operation(
            element, Operation(kind, 100, division, 'op1', kind.value,
                               work.config))
        return replace(work, rampup=0, runtime=0, rampdown=0,
                       total_ops=work.workers, total_bytes=0,
                       operations=(operation,))

    def _normal(self, element: Element, operations: Sequence[Element],
                work: Work) -> Work:
        if not (work.runtime or work.total_ops or work.total_bytes):
            self.findings.refuse(
                element, 'work %s has no limit: one of runtime, totalOps, '
                'totalBytes must be greater than 0' % work.name)
        with self.findings.of(element):
            pace(work.config)
        division = self._value(element, 'division', _kind(Division),
                               Division.NONE)
        found: list[_Found] = []
        before = len(self.findings.refusals)
        for number, child in enumerate(operations, 1):
            operation = self._named(child, work.config, division, number)
            if operation is not None:
                found.append((child, operation))
        total = sum(operation.ratio for _, operation in found)
        if total != 100 and len(self.findings.refusals) == before:
            self.findings.refuse(
                element, 'the ratios of the operations of work %s sum to '
                '%d: must be 100' % (work.name, total))
        self._distinct(found)
        for child, operation in found:
            self._crowded(child, operation, work.workers)
        return replace(work, operations=tuple(
            operation for _, operation in found))

    def _distinct(self, found: Iterable[_Found]) -> None:
        seen: set[str] = set()
        for child, operation in found:
            if operation.id in seen:
                self.findings.refuse(child, 'id=%s: must be another in each '
                                     'operation of a work' % operation.id)
            seen.add(operation.id)

    def _named(self, element: Element, config: Config, division: Division,
               number: int) -> Operation | None:
        """Return an operation of a normal work unless dropped or refused."""
        self.findings.children(element)
        kind = self._value(element, 'type', operation_type)
        ratio = self._value(element, 'ratio', _bounded(0, 100), 100)
        if 'type' not in element.attributes:
            self.findings.refuse(element, 'the type of an operation is '
                                 'missing: must be ' + NAMED_TYPES)
        if kind is None or not ratio:
            return None
        config = self.inheritance.config(element).over(config)
        with self.findings.of(element):
            return self._operation(element, Operation(
                kind, ratio,
                self._value(element, 'division', _kind(Division), division),
                self._value(element, 'id', names.label, 'op%d' % number),
                names.label('name', config.text('name', kind.value)),
                config))
        return None

    def _operation(self, element: Element,
                   operation: Operation) -> Operation:
        with self.findings.of(element):
            return replace(operation, **fields(operation.type,
                                               operation.config))
        return operation

    def _crowded(self, element: Element, operation: Operation,
                 workers: int) -> None:
        divided = {Division.CONTAINER: operation.containers,
                   Division.OBJECT: operation.objects}.get(operation.division)
        if divided is None:
            return
        least = min(len(span) for span in divided.selector.spans())
        if least < workers:
            self.findings.warn(
                element, 'division=%s: %d for %d workers, so that some '
                'share' % (operation.division.value, least, workers))

    def _some(self, element: Element, children: Children,
              tag: str) -> list[Element]:
        if not children[tag]:
            self.findings.refuse(element, 'a %s must have a %s'
                                 % (element.tag, tag))
        return children[tag]

    def _label(self, element: Element, default: str | None = None,
               forbidden: str = '/\\') -> str:
        if default is None and 'name' not in element.attributes:
            self.findings.refuse(element, 'the name of a %s is missing'
                                 % element.tag)
        return str(self._value(
            element, 'name',
            lambda key, text: names.label(key, text, forbidden),
            default or ''))
