import { expect, test } from 'vitest';
import { junitXml } from './report.ts';
import { SCENARIOS } from './run.ts';

const CHARS = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u;

test('the report is valid XML for any text of a driver', () => {
  const [scenario] = SCENARIOS;
  if (!scenario) throw new Error('there are no scenarios');
  const why = '<a b="c">&\u0000\u001b[31m\u0085\uD800 \uFFFE\uFFFF]]> ü 😀\r\n';
  const xml = junitXml({
    target: 'a"<&>',
    outcomes: [{ scenario, state: 'failed', why, ms: 1 }],
    notes: [],
    failed: 1,
  });
  expect(xml).toMatch(CHARS);
  expect(xml).toContain(
    'message="&lt;a b=&quot;c&quot;&gt;&amp;\uFFFD\uFFFD[31m\uFFFD\uFFFD \uFFFD\uFFFD]]&gt; ü 😀\uFFFD\n"',
  );
  expect(xml).toContain('<testsuite name="a&quot;&lt;&amp;&gt;" tests="1" failures="1" skipped="0">');
});
