# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""What is shown of a run, made of its result document."""

from dataclasses import asdict

from tools.cosbench.measure.summary import Metrics
from tools.cosbench.measure.tally import Tally
from tools.cosbench.measure.timeline import Timeline

#: Points of a timeline that a page can draw.
MAX_POINTS = 600
_HEADLINE = ('id', 'name', 'description', 'state', 'submitted', 'started',
             'stopped', 'seed', 'warnings')


def headline(document):
    """
    :returns: what a list shows of a run
    """
    return {key: document[key] for key in _HEADLINE}


def live(document):
    """
    :returns: all but the histograms: metrics of each operation, points of
        each timeline
    """
    return {**headline(document), 'drivers': document['drivers'],
            'stages': [_stage(each) for each in document['stages']]}


def _stage(stage):
    return {**stage, 'works': [_work(each) for each in stage['works']]}


def _work(work):
    timeline = Timeline.from_json(work['timeline'])
    points = {operation: [asdict(point) for point in timeline.points(
        operation, MAX_POINTS)] for operation in timeline.operations}
    return {**work, 'timeline': points, 'operations': [
        _operation(work, each) for each in work['operations']]}


def _operation(work, operation):
    tally = Tally.from_json(operation['tally'])
    metrics = Metrics.of(tally, work['workers'],
                         work['counted'] or work['runtime'])
    return {**{key: value for key, value in operation.items()
               if key != 'tally'},
            'failures': tally.failures, 'metrics': asdict(metrics)}
