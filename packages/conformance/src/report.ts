import type { Outcome, Report } from './run.ts';

const MARK: Readonly<Record<Outcome['state'], string>> = { passed: 'PASS', failed: 'FAIL', skipped: 'SKIP' };

/** Formats the outcome of a scenario. */
export function outcomeText({ scenario, state, why }: Outcome): string {
  const head = `${MARK[state]}  ${scenario.name}\n`;
  if (state === 'passed') return head;
  const users = state === 'failed' ? `      Impact on users: ${scenario.impact}.\n` : '';
  return `${head}      ${why ?? ''}\n${users}`;
}

/** Formats the end of a report: the notes, and the numbers of scenarios that passed, failed and were skipped. */
export function summaryText({ target, outcomes, notes }: Report): string {
  const count = (state: Outcome['state']): number => outcomes.filter((each) => each.state === state).length;
  const before = notes.map((note) => `NOTE  ${note}\n`).join('');
  return `${before}${target}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`;
}

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    // XML 1.0 forbids control characters, unpaired surrogates, U+FFFE and U+FFFF, even in escaped form.
    .replaceAll(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));

/** Formats a report as JUnit XML, which CI systems read. */
export function junitXml({ target, outcomes, failed, notes }: Report): string {
  const skipped = outcomes.filter(({ state }) => state === 'skipped').length;
  const lines = outcomes.map(({ scenario, state, why = '', ms }) => {
    const open = `    <testcase classname="${escaped(target)}" name="${escaped(scenario.name)}" time="${ms / 1_000}"`;
    if (state === 'passed') return `${open}/>`;
    const inner =
      state === 'failed'
        ? `<failure message="${escaped(why)}">Impact on users: ${escaped(scenario.impact)}.</failure>`
        : `<skipped message="${escaped(why)}"/>`;
    return `${open}>${inner}</testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites tests="${outcomes.length}" failures="${failed}" skipped="${skipped}">`,
    `  <testsuite name="${escaped(target)}" tests="${outcomes.length}" failures="${failed}" skipped="${skipped}">`,
    ...lines,
    ...(notes.length > 0 ? [`    <system-out>${escaped(notes.join('\n'))}</system-out>`] : []),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}
