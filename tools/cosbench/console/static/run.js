// SPDX-License-Identifier: Apache-2.0
// What is shown of a run, made of GET /v1/workloads/ID.

import {chart} from './chart.js';
import {badge, h, table} from './dom.js';
import {duration, moment, percent, short, size} from './format.js';

const ENDED = ['finished', 'failed', 'cancelled', 'terminated'];

export const ended = (run) => ENDED.includes(run.state);

const label = (operation) => operation.name || operation.type;

/** Two operations of a name differ by their ids. */
function labels(work) {
  const names = work.operations.map(label);
  return work.operations.map((each, number) =>
    names.indexOf(names[number]) === names.lastIndexOf(names[number]) ?
      names[number] : names[number] + ' ' + each.id);
}

const total = (work) => work.runtime ?
  work.rampup + work.runtime + work.rampdown : 0;

function ramps(work) {
  const found = [];
  if (work.rampup) {
    found.push([work.rampup, 'run time']);
  }
  if (work.rampdown) {
    found.push([work.rampup + work.runtime, 'ramp-down']);
  }
  return found;
}

/**
 * The points of whole intervals: in one that has just begun, or in which the
 * work ended, there was less time than it says.
 */
function whole(work) {
  const points = Object.values(work.timeline).flat();
  const limit = work.runtime && work.state === 'completed' ? total(work) :
    Math.max(0, ...points.map((point) => point.start));
  return (id) => (work.timeline[id] || []).filter(
      (point) => point.start + point.seconds <= limit + 1e-6);
}

function series(work, value, suffix = '') {
  const points = whole(work);
  return labels(work).map((name, number) => ({
    label: name + suffix,
    points: points(work.operations[number].id).map(
        (point) => [point.start + point.seconds / 2, value(point)])}));
}

/** Throughput and response time of a work. */
export function charts(stage, work) {
  const title = stage.id + ', ' + work.name;
  const both = (work.operations.length < 2 ? [
    [(point) => point.mean, ' mean'], [(point) => point.p99, ' p99']] :
    [[(point) => point.mean, '']]).concat(work.rate ? [
      [(point) => point.mean_intended, ' mean from due']] : []);
  const x = 'Seconds since the begin of the work';
  return [
    chart({title: title + ': throughput', x, y: 'Operations/s',
           series: series(work, (point) => point.count / point.seconds),
           marks: ramps(work), until: total(work)}),
    chart({title: title + (both.length > 1 ? ': response time' :
             ': mean response time'), x, y: 'Response time, ms', log: true,
           series: both.flatMap(([value, suffix]) => series(
               work, value, suffix)), marks: ramps(work), until: total(work)})];
}

export function metrics(run) {
  const rows = run.stages.flatMap((stage) => stage.works.flatMap(
      (work) => work.operations.filter((each) => each.metrics.op_count ||
        each.metrics.failures).map((each) => {
        const found = each.metrics;
        const name = work.name === each.name ? work.name :
          work.name + ', ' + label(each);
        return [stage.id, name, work.workers,
                short(found.op_count), short(found.failures),
                percent(found.success_ratio), short(found.throughput),
                size(found.bandwidth) + '/s', size(found.byte_count),
                short(found.avg_res), short(found.avg_proc),
                short(found.p50), short(found.p95), short(found.p99),
                short(found.p100)];
      })));
  return table('Operations: response times are of successes', [
    'Stage', 'Operation', 'Workers', 'Successes', 'Failures', 'Success',
    'Operations/s', 'Bandwidth', 'Bytes', 'Mean ms', 'First byte ms',
    'p50 ms', 'p95 ms', 'p99 ms', 'max ms'], rows);
}

export function failures(run) {
  const rows = run.stages.flatMap((stage) => stage.works.flatMap(
      (work) => work.operations.flatMap((each) => Object.entries(
          each.failures).map(([kind, count]) => [
        stage.id, work.name, label(each), kind, short(count),
        (each.examples || {})[kind] || '-']))));
  return table('Failures', ['Stage', 'Work', 'Operation', 'Failure',
                            'Count', 'One of them'], rows);
}

function span(item) {
  const end = item.stopped || Date.now() / 1000;
  return item.started ? duration(end - item.started) : '';
}

export function stages(run) {
  return table('Stages', ['Stage', 'State', 'Started', 'Took', 'Reason'],
               run.stages.map((stage) => [
                 stage.id, badge(stage.state), moment(stage.started),
                 span(stage), stage.reason || '-']));
}

export function works(run) {
  const rows = run.stages.flatMap((stage) => stage.works.map((work) => [
    stage.id, work.name, work.type, badge(work.state), work.workers,
    work.runtime ? [work.rampup, work.runtime, work.rampdown].join(' + ') +
      ' s' : '-', work.rate ? short(work.rate) + '/s' : '-',
    work.reason || '-']));
  return table('Works', [
    'Stage', 'Work', 'Type', 'State', 'Workers', 'Ramp-up + run + ramp-down',
    'Wanted rate', 'Reason'], rows);
}

const BUSY = 90;
const LATE = 20;

function health(driver) {
  const found = [];
  if (driver.cpu_percent_p95 > BUSY) {
    found.push('busy: it limits the run');
  }
  if (driver.loop_lag_ms_p99 > LATE) {
    found.push('late: its times are too long');
  }
  return [driver.reason, ...found].filter(Boolean).join('; ') || 'good';
}

export function drivers(run) {
  return table('Drivers', [
    'Driver', 'State', 'Health', 'CPU % (p95)', 'Loop lag ms (p99)',
    'Clock offset s', 'Operations per CPU second'],
  run.drivers.map((each) => [
    each.name, badge(each.state), health(each), short(each.cpu_percent_p95),
    short(each.loop_lag_ms_p99), short(each.clock_offset_s),
    short(each.operations_per_cpu_second)]));
}

/** Of each work by itself: a driver may be busy in one, and not in another. */
export function workDrivers(run) {
  const rows = run.stages.flatMap((stage) => stage.works.flatMap(
      (work) => work.drivers.map((each) => [
        stage.id, work.name, each.name, short(each.workers),
        badge(each.state), health(each), short(each.cpu_percent_p95),
        short(each.loop_lag_ms_p99), short(each.resent)])));
  return table('Drivers in each work', [
    'Stage', 'Work', 'Driver', 'Workers', 'State', 'Health', 'CPU % (p95)',
    'Loop lag ms (p99)', 'Requests sent again'], rows);
}

/** Why it failed, before everything else; '' if it did not. */
export function reasons(run) {
  const found = run.stages.filter((stage) => stage.reason).map(
      (stage) => stage.id + ': ' + stage.reason);
  return found.length ? h(
      'section', {class: 'alert', 'aria-label': 'What failed'},
      h('h2', {}, 'What failed'),
      h('ul', {}, found.map((each) => h('li', {}, each)))) : '';
}

/** The few figures that most people look for. */
export function summary(run) {
  const rows = run.stages.flatMap((stage) => stage.works.filter(
      (work) => work.type === 'normal').flatMap(
      (work) => work.operations.filter((each) => each.metrics.op_count ||
        each.metrics.failures).map((each) => {
        const found = each.metrics;
        const times = found.intended || {};
        return [[stage.id, work.name, label(each)].join(', '),
                short(found.throughput), size(found.bandwidth) + '/s',
                short(times.p50), short(times.p99), short(times.p100),
                short(found.failures)];
      })));
  return table('Summary: times count from when an operation was due', [
    'Operation', 'Operations/s', 'Bandwidth', 'p50 ms', 'p99 ms', 'max ms',
    'Failures'], rows);
}

export function warnings(run) {
  return run.warnings.length ? h(
      'section', {class: 'alert', 'aria-label': 'Warnings'},
      h('h2', {}, 'Warnings'),
      h('ul', {}, run.warnings.map((each) => h('li', {}, each)))) : '';
}

/** How far the stage that runs is; null if its works have no end in time. */
function progress(stage) {
  const work = stage.works.find((each) => each.runtime && each.started);
  if (!work || stage.state !== 'running') {
    return null;
  }
  const over = Math.min(total(work), Date.now() / 1000 - work.started);
  return h('progress', {max: total(work), value: Math.max(0, over).toFixed(1),
                        'aria-label': 'Time of ' + stage.id});
}

export function headline(run) {
  const at = run.stages.find((each) => each.started && !each.stopped);
  const words = [
    badge(run.state), ' ',
    run.started ? span(run) + ' since ' + moment(run.started) :
      'submitted ' + moment(run.submitted), ', seed ' + run.seed];
  return h('p', {class: 'state'}, words, at && !ended(run) ? [
    '; ' + at.id + ' (' + (run.stages.indexOf(at) + 1) + ' of ' +
    run.stages.length + '): ' + at.state + ' ', progress(at)] : null);
}

/** Of all works that have begun, or of the last stage that has. */
export function plots(run, onlyLast) {
  const begun = run.stages.filter((stage) => stage.works.some(
      (work) => Object.keys(work.timeline).length));
  const shown = onlyLast ? begun.slice(-1) : begun.slice().reverse();
  const figures = shown.flatMap((stage) => stage.works.flatMap(
      (work) => charts(stage, work))).filter(Boolean);
  return figures.length ? h('div', {class: 'plots'}, figures) : '';
}

/** What has changed from one look to the next, in words. */
export function changes(before, now) {
  if (!before) {
    return null;
  }
  if (before.state !== now.state) {
    return now.id + ' is ' + now.state;
  }
  const changed = now.stages.filter((stage, number) =>
    (before.stages[number] || {}).state !== stage.state &&
    ['running', 'completed', 'failed'].includes(stage.state));
  const latest = changed[changed.length - 1];
  return latest ? now.id + ': ' + latest.id + ' is ' + latest.state : null;
}
