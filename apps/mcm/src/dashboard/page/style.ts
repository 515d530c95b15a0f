/** The style sheet. Dark or light as in the system, unless the button overrides it. The contrast of every text is at least 4.5 : 1. */
export const STYLE = `
:root {
  color-scheme: light;
  --back: #ffffff; --raised: #f4f6f8; --line: #c9d1d9; --text: #1b1f24; --quiet: #4d5761; --link: #0550ae; --focus: #0550ae;
  --good: #0b5c2b; --good-back: #dcf5e4; --busy: #0a4a8f; --busy-back: #dcecfd; --bad: #8f1212; --bad-back: #fde4e2; --idle: #3f4750; --idle-back: #e6eaee;
}
@media (prefers-color-scheme: dark) {
  :root:not([data-theme="light"]) {
    color-scheme: dark;
    --back: #0f1419; --raised: #182029; --line: #3a4653; --text: #e6edf3; --quiet: #a8b3bf; --link: #7cc0ff; --focus: #7cc0ff;
    --good: #8ce3a8; --good-back: #12351f; --busy: #9ccbff; --busy-back: #11304f; --bad: #ffb0a8; --bad-back: #4a1715; --idle: #c3ccd5; --idle-back: #2a343e;
  }
}
:root[data-theme="dark"] {
  color-scheme: dark;
  --back: #0f1419; --raised: #182029; --line: #3a4653; --text: #e6edf3; --quiet: #a8b3bf; --link: #7cc0ff; --focus: #7cc0ff;
  --good: #8ce3a8; --good-back: #12351f; --busy: #9ccbff; --busy-back: #11304f; --bad: #ffb0a8; --bad-back: #4a1715; --idle: #c3ccd5; --idle-back: #2a343e;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
header { display: flex; align-items: center; gap: 1rem; padding: .5rem 1.5rem; background: var(--raised); border-bottom: 1px solid var(--line); }
header p { margin: 0; flex: 1; color: var(--quiet); }
main { max-width: 90rem; margin: 0 auto; padding: 0 1.5rem 3rem; }
main:focus { outline: none; }
p { overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: 0; }
a { color: var(--link); } .home { font-weight: 700; }
.skip { position: absolute; left: -100rem; } .skip:focus { left: .5rem; top: .5rem; background: var(--back); padding: .5rem; z-index: 1; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td:last-child { overflow-wrap: anywhere; min-width: 22rem; }
thead th { color: var(--quiet); font-size: .875rem; white-space: nowrap; }
tbody th { font-weight: 600; min-width: 10rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.badge { display: inline-block; padding: 0 .5rem; border-radius: .25rem; white-space: nowrap; }
.good { color: var(--good); background: var(--good-back); } .busy { color: var(--busy); background: var(--busy-back); }
.bad { color: var(--bad); background: var(--bad-back); } .idle { color: var(--idle); background: var(--idle-back); }
progress { display: block; width: 8rem; margin-top: .4rem; accent-color: var(--link); }
pre { background: var(--raised); border: 1px solid var(--line); padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .875rem; margin: .5rem 0; }
button, input { font: inherit; color: var(--text); background: var(--back); border: 1px solid var(--quiet); border-radius: .25rem; padding: .25rem .75rem; }
.gap { border-left: .25rem solid var(--bad); padding: .25rem .75rem; background: var(--bad-back); color: var(--bad); overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
ul.cures { margin: 0.25rem 0; padding-left: 1.25rem; }
summary { color: var(--link); cursor: pointer; }
h1 + p::first-letter { text-transform: uppercase; }
@media (max-width: 40rem) {
  header { padding: .5rem 1rem; } main { padding: 0 1rem 3rem; }
  thead { position: absolute; left: -100rem; }
  tbody tr { display: flex; flex-wrap: wrap; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  tbody th, tbody td { border: 0; padding: .1rem .75rem .1rem 0; min-width: 0; overflow-wrap: anywhere; }
  tbody th, td:last-child { flex-basis: 100%; min-width: 0; }
  .number { white-space: normal; text-align: left; } .number[data-of]::after { content: " " attr(data-of); }
}
`;
