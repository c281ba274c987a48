// SPDX-License-Identifier: Apache-2.0
// Elements without HTML text: whatever a name has in it stays text.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...content.flat(Infinity).filter(
      (each) => each !== null && each !== undefined && each !== ''));
  return element;
}

/** An HTML element; content may be lists, and null is nothing. */
export function h(name, attributes = {}, ...content) {
  return fill(document.createElement(name), attributes, content);
}

export function svg(name, attributes = {}, ...content) {
  return fill(document.createElementNS(SVG, name), attributes, content);
}

/** A table; the first cell of a row is its heading. '' without rows. */
export function table(caption, columns, rows) {
  if (!rows.length) {
    return '';
  }
  const line = ([first, ...rest]) => h(
      'tr', {}, h('th', {scope: 'row'}, first),
      rest.map((cell) => h('td', {}, cell)));
  return h(
      'div', {class: 'wide', tabindex: 0, role: 'region',
              'aria-label': caption},
      h('table', {}, h('caption', {}, caption),
        h('thead', {}, h('tr', {}, columns.map(
            (each) => h('th', {scope: 'col'}, each)))),
        h('tbody', {}, rows.map(line))));
}

export function badge(state) {
  return h('span', {class: 'badge ' + state}, state);
}

function alike(one, other) {
  return one.nodeName === other.nodeName &&
      one.childNodes.length === other.childNodes.length;
}

function patch(there, wanted) {
  if (!alike(there, wanted)) {
    there.replaceWith(wanted);
    return;
  }
  if (there.nodeType === Node.TEXT_NODE) {
    if (there.data !== wanted.data) {
      there.data = wanted.data;
    }
    return;
  }
  for (const {name, value} of wanted.attributes) {
    if (there.getAttribute(name) !== value) {
      there.setAttribute(name, value);
    }
  }
  for (const {name} of [...there.attributes]) {
    // Whether details are open is the reader's.
    if (name !== 'open' && !wanted.hasAttribute(name)) {
      there.removeAttribute(name);
    }
  }
  const pairs = [...wanted.childNodes];
  [...there.childNodes].forEach((each, number) => patch(each, pairs[number]));
}

/**
 * Show parts in an element, a div each: those that have not changed stay, and
 * so does the focus in them.
 */
export function show(element, ...parts) {
  const wanted = element.cloneNode(false);
  fill(wanted, {}, parts.map((part) => h('div', {}, part)));
  if (alike(element, wanted)) {
    patch(element, wanted);
  } else {
    element.replaceChildren(...wanted.childNodes);
  }
}

const NEWS = 10000;
let forget = null;

/** Say something, to those who listen to the page too, and for a while. */
export function announce(words) {
  const news = document.getElementById('news');
  clearTimeout(forget);
  forget = setTimeout(() => news.replaceChildren(), NEWS);
  if (news.textContent !== words) {
    news.textContent = words;
  }
}
