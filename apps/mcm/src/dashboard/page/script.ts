/**
 * The script of the page: the button for the theme, and a stream of changed sections. It changes only the elements that differ,
 * so that focus, selection, scroll positions and opened details remain. It is text, because it runs in the browser.
 */
export const SCRIPT = `'use strict';
const root = document.documentElement;
const button = document.getElementById('theme');
const themes = ['as the system', 'light', 'dark'];
let theme = localStorage.getItem('mcm-theme') ?? themes[0];
if (!themes.includes(theme)) theme = themes[0];
const showTheme = () => {
  if (theme === themes[0]) delete root.dataset.theme;
  else root.dataset.theme = theme;
  button.textContent = 'Theme: ' + theme;
};
button.addEventListener('click', () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  localStorage.setItem('mcm-theme', theme);
  showTheme();
});
button.hidden = false;
showTheme();

// The server escaped all texts in a section. Only sections may become markup.
const policy = globalThis.trustedTypes?.createPolicy('mcm', { createHTML: (text) => text }) ?? { createHTML: (text) => text };
const parse = (text) => {
  const holder = document.createElement('template');
  holder.innerHTML = policy.createHTML(text);
  return holder.content;
};

const keyOf = (node) => (node.nodeType === 1 ? (node.dataset.key ?? (node.id || undefined)) : undefined);
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

const same = (old, next) => {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) {
    // The reader decides which details are open.
    if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  }
  children(old, next);
};

const children = (old, next) => {
  const keyed = new Map([...old.childNodes].flatMap((node) => (keyOf(node) === undefined ? [] : [[keyOf(node), node]])));
  const kept = new Set([...next.childNodes].map(keyOf));
  for (const [key, node] of keyed) if (!kept.has(key)) node.remove();
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const known = key === undefined ? undefined : keyed.get(key);
    if (known && alike(known, wanted)) {
      if (known === at) at = at.nextSibling;
      else (old.moveBefore ?? old.insertBefore).call(old, known, at);
      same(known, wanted);
    } else if (key === undefined && at && keyOf(at) === undefined && alike(at, wanted)) {
      const here = at;
      at = at.nextSibling;
      same(here, wanted);
    } else old.insertBefore(wanted, at);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
};

const connection = document.getElementById('connection');
const say = (text) => {
  if (connection.textContent !== text) connection.textContent = text;
};
say('Connecting.');
const stream = new EventSource(document.body.dataset.live);
stream.addEventListener('open', () => say('Live.'));
stream.addEventListener('error', () => say('Connection lost. The page may be outdated. Reconnecting.'));
// The last lines of each section. A known line is sent as its position in these.
const sent = new Map();
stream.addEventListener('open', () => sent.clear());
stream.addEventListener('section', ({ data }) => {
  const { id, lines } = JSON.parse(data);
  const before = sent.get(id) ?? [];
  const next = lines.flatMap((line) => (typeof line === 'string' ? [line] : before.slice(line[0], line[0] + line[1])));
  sent.set(id, next);
  const section = document.getElementById(id);
  if (section) children(section, parse(next.join('\\n')));
});
`;
