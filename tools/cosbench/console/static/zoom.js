// SPDX-License-Identifier: Apache-2.0
// Which part of the time a chart shows: chosen by dragging over it, or by
// keys when it has the focus: + and -, arrows, Escape for all of it.

import {svg} from './dom.js';

const LEAST = 0.03;
/** Title of a chart -> [from, to], seconds; others show everything. */
const chosen = new Map();
let drag = null;

export const rangeOf = (title) => chosen.get(title) || null;

function chartAt(event) {
  return event.target.closest ? event.target.closest('svg.zooms') : null;
}

const seconds = (chart, name) => Number(chart.dataset[name]);

/** How far across the plot something is, 0 to 1. */
function share(chart, event) {
  const box = chart.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width *
      Number(chart.getAttribute('viewBox').split(' ')[2]);
  return Math.min(1, Math.max(0, (x - seconds(chart, 'left')) / (
    seconds(chart, 'right') - seconds(chart, 'left'))));
}

function mark(chart, first, second) {
  const wide = seconds(chart, 'right') - seconds(chart, 'left');
  chart.querySelectorAll('.chosen').forEach((each) => each.remove());
  chart.append(svg('rect', {
    class: 'chosen', y: 0, height: '100%',
    x: seconds(chart, 'left') + Math.min(first, second) * wide,
    width: Math.abs(first - second) * wide}));
}

function moved(chart, key) {
  const [from, to] = [seconds(chart, 'from'), seconds(chart, 'to')];
  const wide = to - from;
  const end = seconds(chart, 'until');
  const [first, last] = {
    '+': [from + wide / 4, to - wide / 4],
    '-': [from - wide / 2, to + wide / 2],
    'ArrowLeft': [from - wide / 4, to - wide / 4],
    'ArrowRight': [from + wide / 4, to + wide / 4]}[key];
  const width = Math.min(last - first, end);
  const begin = Math.min(Math.max(0, first), end - width);
  return width < end ? [begin, begin + width] : null;
}

/**
 * Let charts in an element be zoomed.
 *
 * @param {Element} element what has the charts, now and later
 * @param {function} redraw shows them again
 */
export function zooming(element, redraw) {
  const choose = (chart, range) => {
    const title = chart.dataset.title;
    const focused = chart === document.activeElement;
    if (range) {
      chosen.set(title, range);
    } else {
      chosen.delete(title);
    }
    redraw();
    if (focused) {
      element.querySelector(
          `svg[data-title="${CSS.escape(title)}"]`)?.focus();
    }
  };
  element.addEventListener('pointerdown', (event) => {
    const chart = chartAt(event);
    drag = chart && event.button === 0 ?
      {title: chart.dataset.title, from: share(chart, event)} : null;
  });
  element.addEventListener('pointermove', (event) => {
    const chart = chartAt(event);
    if (drag && chart && chart.dataset.title === drag.title) {
      mark(chart, drag.from, share(chart, event));
    }
  });
  element.addEventListener('pointerup', (event) => {
    const chart = chartAt(event);
    const begun = drag;
    drag = null;
    if (!begun || !chart || chart.dataset.title !== begun.title) {
      return;
    }
    const [first, last] = [begun.from, share(chart, event)].sort(
        (one, other) => one - other);
    const from = seconds(chart, 'from');
    const wide = seconds(chart, 'to') - from;
    if (last - first >= LEAST) {
      choose(chart, [from + first * wide, from + last * wide]);
    }
  });
  element.addEventListener('dblclick', (event) => {
    const chart = chartAt(event);
    if (chart) {
      choose(chart, null);
    }
  });
  element.addEventListener('keydown', (event) => {
    const chart = chartAt(event);
    if (!chart || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === 'Escape') {
      choose(chart, null);
    } else if (['+', '-', 'ArrowLeft', 'ArrowRight'].includes(event.key)) {
      event.preventDefault();
      choose(chart, moved(chart, event.key));
    }
  });
}
