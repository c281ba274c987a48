// SPDX-License-Identifier: Apache-2.0
// A line chart as SVG that looks as those of the reports (reports/plots.py):
// the classes are of their style, and series differ by dashes too.

import {h, svg, table} from './dom.js';
import {NOTHING, short} from './format.js';
import {rangeOf} from './zoom.js';

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 72;
const RIGHT = 16;
const TOP = 34;
const BOTTOM = 48;
const COLOURS = 6;
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];
const LEGEND = 150;
const MOST_MARKED = 20;
const MOST_TOLD = 150;

function stepOf(high) {
  if (high <= 0) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(high / 5));
  return [1, 2, 5, 10].map((each) => each * power).find(
      (each) => each >= high / 5 * 0.999);
}

/** From 0 to a round number above all values. */
function linear(values) {
  const top = Math.max(0, ...values);
  const step = stepOf(top);
  const count = Math.max(1, Math.ceil(top / step - 1e-9));
  const ticks = Array.from({length: count + 1}, (_, number) => step * number);
  return {at: (value) => value / (step * count), ticks, from: 0,
          to: step * count};
}

/** A part of the time. */
function between([from, to]) {
  const step = stepOf(to - from);
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return {at: (value) => (value - from) / (to - from), from, to,
          ticks: Array.from({length: Math.max(0, count)},
                            (_, number) => step * (first + number))};
}

/** From one power of ten to another. */
function logarithmic(values) {
  const known = values.filter((value) => value > 0);
  const first = Math.floor(Math.log10(Math.min(...known)) + 1e-9);
  const last = Math.max(
      first + 1, Math.ceil(Math.log10(Math.max(...known)) - 1e-9));
  const ticks = [];
  for (let power = first; power <= last; power++) {
    for (const each of last - first <= 2 ? [1, 2, 5] : [1]) {
      if (power < last || each === 1) {
        ticks.push(each * 10 ** power);
      }
    }
  }
  return {ticks, at: (value) => value > 0 ?
    Math.max(0, (Math.log10(value) - first) / (last - first)) : 0};
}

const across = (share) => LEFT + share * (WIDTH - LEFT - RIGHT);
const up = (share) => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
const round = (value) => value.toFixed(1);

function words(x, y, text, anchor = 'start') {
  return svg('text', {x: round(x), y: round(y), 'text-anchor': anchor}, text);
}

function frame(xs, ys, xLabel, yLabel) {
  return [
    ys.ticks.map((value) => [
      svg('line', {class: 'grid', x1: LEFT, x2: WIDTH - RIGHT,
                   y1: round(up(ys.at(value))),
                   y2: round(up(ys.at(value)))}),
      words(LEFT - 6, up(ys.at(value)) + 4, short(value), 'end')]),
    xs.ticks.map((value) => [
      svg('line', {class: 'grid', x1: round(across(xs.at(value))),
                   x2: round(across(xs.at(value))), y1: HEIGHT - BOTTOM,
                   y2: HEIGHT - BOTTOM + 4}),
      words(across(xs.at(value)), HEIGHT - BOTTOM + 17, short(value),
            'middle')]),
    words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, xLabel, 'middle'),
    words(LEFT - 6, TOP - 14, yLabel)];
}

function look(number) {
  return {class: 'l' + number % COLOURS,
          'stroke-dasharray': DASHES[number % DASHES.length] || null};
}

function line(number, {label, points}, xs, ys) {
  let path = '';
  let begins = true;
  for (const [x, y] of points) {
    if (y === null) {
      begins = true;
      continue;
    }
    path += (begins ? 'M' : 'L') + round(across(xs.at(x))) + ' ' +
        round(up(ys.at(y)));
    begins = false;
  }
  const marked = points.length <= MOST_MARKED ? points : [];
  return [svg('path', {...look(number), d: path}),
          marked.filter(([, y]) => y !== null).map(([x, y]) => svg(
              'circle', {class: 'l' + number % COLOURS, r: 3,
                         cx: round(across(xs.at(x))),
                         cy: round(up(ys.at(y)))})),
          points.length <= MOST_TOLD ? points.filter(
              ([, y]) => y !== null).map(([x, y]) => svg(
              'circle', {class: 'hit', r: 6, cx: round(across(xs.at(x))),
                         cy: round(up(ys.at(y)))},
              svg('title', {}, `${label}: ${short(y)} (${short(x)})`))) : []];
}

function legend(labels) {
  const columns = Math.floor((WIDTH - LEFT) / LEGEND);
  return labels.map((label, number) => {
    const left = LEFT + number % columns * LEGEND;
    const top = HEIGHT + 10 + Math.floor(number / columns) * 18;
    const shown = label.length <= 18 ? label : label.slice(0, 17) + '\u2026';
    return [svg('path', {...look(number), d: `M${left} ${top}h22`}),
            words(left + 28, top + 4, shown)];
  });
}

function marks(xs, found) {
  return found.map(([x, label]) => {
    const place = round(across(xs.at(x)));
    const room = place < WIDTH - RIGHT - 60;
    return [svg('line', {class: 'mark', x1: place, x2: place, y1: TOP,
                         y2: HEIGHT - BOTTOM}),
            words(Number(place) + (room ? 4 : -4), TOP + 12, label,
                  room ? 'start' : 'end')];
  });
}

function last(points) {
  const known = points.filter(([, y]) => y !== null);
  return known.length ? short(known[known.length - 1][1]) : NOTHING;
}

/**
 * A figure; null if there is nothing to draw.
 *
 * @param {object} plot title; x, y: labels; log: whether y is logarithmic;
 *     series: of label and points, (x, y or null); marks: of (x, words);
 *     until: the least end of x
 */
export function chart(plot) {
  const all = plot.series.flatMap((each) => each.points).filter(
      ([, y]) => y !== null);
  const whole = linear([...all, ...plot.marks, [plot.until]].map(([x]) => x));
  const range = rangeOf(plot.title);
  const xs = range ? between(range) : whole;
  const inside = ([x]) => x >= xs.from && x <= xs.to;
  const lines = plot.series.map((each) => ({
    ...each, points: each.points.filter(inside)}));
  // A part without a point has the height of all.
  const points = all.some(inside) ? all.filter(inside) : all;
  const values = points.map(([, y]) => y);
  if (!points.length || (plot.log && !values.some((value) => value > 0))) {
    return null;
  }
  const ys = plot.log ? logarithmic(values) : linear(values);
  const labels = plot.series.map((each) => each.label);
  const rows = Math.ceil(labels.length / Math.floor(
      (WIDTH - LEFT) / LEGEND));
  const height = HEIGHT + 18 * rows + 4;
  const latest = plot.series.map((each) => [each.label, last(each.points)]);
  return h(
      'figure', {}, h('figcaption', {}, plot.title),
      svg('svg', {role: 'img', viewBox: `0 0 ${WIDTH} ${height}`,
                  width: WIDTH, height: height, class: 'zooms', tabindex: 0,
                  'data-title': plot.title, 'data-from': xs.from,
                  'data-to': xs.to, 'data-until': whole.to,
                  'data-left': LEFT, 'data-right': WIDTH - RIGHT,
                  'aria-label': plot.title + (range ?
                    `, seconds ${short(xs.from)} to ${short(xs.to)}` : '') +
                  '; latest: ' + latest.map((each) => each.join(' ')).join(
                      ', ')},
          frame(xs, ys, plot.x, plot.y),
          marks(xs, plot.marks.filter(inside)),
          lines.map((each, number) => line(
              number, each, xs, ys)),
          legend(labels)),
      h('p', {class: 'zoom'}, range ? 'Double click, or Escape: all of it.' :
        'Drag, or + and arrows: a part of the time.'),
      h('details', {}, h('summary', {}, 'Latest figures'),
        table(plot.title + ': latest', ['Operation', plot.y], latest)));
}
