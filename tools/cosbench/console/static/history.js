// SPDX-License-Identifier: Apache-2.0
// Two runs can be compared, no more and no less.

const form = document.getElementById('runs');

function update() {
  const boxes = [...form.querySelectorAll('input[type=checkbox]')];
  const chosen = boxes.filter((each) => each.checked).length;
  for (const each of boxes) {
    each.disabled = chosen >= 2 && !each.checked;
  }
  form.querySelector('button').disabled = chosen !== 2;
}

if (form) {
  form.addEventListener('change', update);
  window.addEventListener('pageshow', update);
}
