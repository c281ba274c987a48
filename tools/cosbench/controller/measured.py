# SPDX-License-Identifier: Apache-2.0
"""What the drivers have reported of a work, together.

The tallies of a report are since the start of its mission, and take the
place of those before; its timeline is what is new. What is made of all of
them is kept until the next report.
"""

from collections import Counter

from cosbench.controller.json_parts import dumps
from cosbench.measure.chart import Chart
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline

#: Points of a timeline that a page can draw.
MAX_POINTS = 600


class Measured:
    """The sum of the reports of a work.

    :param interval: of the work's timeline, seconds
    """

    def __init__(self, interval):
        self.timeline = Timeline(interval)
        #: mission -> operation id -> ``Tally``.
        self._tallies = {}
        #: operation id -> ``Chart``.
        self._charts = {}
        #: What was made -> of what -> texts.
        self._made = {}

    def take(self, mission, tallies, timeline):
        """Take a report; what it brings stays as it is.

        :param mission: id of what reports
        :param tallies: operation id -> ``Tally``, since its start
        :param timeline: a ``Timeline`` of what is new
        :raises ValueError: if its intervals are not as long; then nothing
            is taken
        """
        self.timeline.merge(timeline)
        for operation, number, interval in timeline:
            if operation not in self._charts:
                self._charts[operation] = Chart(self.timeline.seconds,
                                                MAX_POINTS)
            self._charts[operation].add(number, interval)
        self._tallies[mission] = tallies
        self._made.clear()

    @property
    def count(self):
        """Of successes."""
        return sum(tally.count for tally in self._each())

    @property
    def failed(self):
        return sum(tally.failed for tally in self._each())

    def _each(self):
        # Rows with a slash count what their operation does, too.
        return (tally for tallies in self._tallies.values()
                for operation, tally in tallies.items()
                if '/' not in operation)

    def by_operation(self):
        """Return operation id -> its tallies; none is made anew."""
        names = dict.fromkeys(key for tallies in self._tallies.values()
                              for key in tallies)
        return {name: self._of(name) for name in names}

    def tally(self, operation):
        """Return the sum of the tallies of an operation.

        :param operation: its id
        :returns: a new ``Tally`` of what all missions did of it
        """
        found = Tally()
        for tally in self._of(operation):
            found.merge(tally)
        return found

    def packed(self, operations):
        """Return what a result document has of the work.

        :param operations: what is said of each but its tally, dicts
        :returns: operations and timeline as RESULT.md says: key -> texts
            that join to JSON
        """
        return self._kept('packed', lambda: {
            'operations': dumps([
                {**each, 'tally': self.tally(each['id']).to_json()}
                for each in operations]),
            'timeline': dumps(self.timeline.to_json())})

    def shown(self, operations, workers, seconds):
        """Return what a page shows of the work.

        :param operations: as of ``packed``
        :param workers: of the work
        :param seconds: see ``Metrics``
        :returns: operations with their metrics, and the points of the
            timeline: key -> texts that join to JSON
        """
        return self._kept(('shown', seconds), lambda: {
            'operations': dumps([
                {**each, **self._figures(each['id'], workers, seconds)}
                for each in operations]),
            'timeline': '{%s}' % ','.join(
                '%s:[%s]' % (dumps(operation), ','.join(chart.texts()))
                for operation, chart in sorted(self._charts.items()))})

    def _figures(self, operation, workers, seconds):
        tallies = self._of(operation)
        failures: Counter[str] = Counter()
        examples: dict[str, str] = {}
        for each in tallies:
            failures.update(each.failures)
            for kind, said in each.examples.items():
                examples[kind] = min(said, examples.get(kind, said))
        metrics = Metrics.of_all(tallies, workers, seconds)
        return {'failures': dict(failures), 'examples': examples, 'metrics': {
            **vars(metrics),
            'intended': metrics.intended and vars(metrics.intended)}}

    def _of(self, operation):
        return [tallies[operation] for tallies in self._tallies.values()
                if operation in tallies]

    def _kept(self, what, make):
        if what not in self._made:
            self._made[what] = {key: (text,) for key, text in make().items()}
        return self._made[what]
