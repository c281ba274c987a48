// SPDX-License-Identifier: Apache-2.0
// A chosen file is shown where it can be edited; a problem leads to its line.

import {announce} from './dom.js';

const MOST = 2 ** 20;
const file = document.getElementById('file');
const text = document.getElementById('xml');

file.addEventListener('change', async () => {
  const [chosen] = file.files;
  // What is no UTF-8 is sent as the file that it is.
  if (!chosen || chosen.size > MOST) {
    return;
  }
  try {
    const decoder = new TextDecoder('utf-8', {fatal: true});
    text.value = decoder.decode(await chosen.arrayBuffer());
    announce(chosen.name + ' is shown below.');
  } catch (error) {
    text.value = '';
    announce(chosen.name + ' cannot be shown, and is sent as it is.');
  }
});

// What is edited is what is meant.
text.addEventListener('input', () => {
  file.value = '';
});

for (const link of document.querySelectorAll('a[data-line]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    const lines = text.value.split('\n');
    const number = Number(link.dataset.line) - 1;
    const begin = lines.slice(0, number).reduce(
        (sum, each) => sum + each.length + 1, 0);
    text.focus();
    text.setSelectionRange(begin, begin + (lines[number] || '').length);
    text.scrollTop = text.scrollHeight / lines.length * (number - 3);
  });
}
