import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sumOf } from './common/counts.ts';
import type { Outcome } from './common/set.ts';
import { mcmFlags } from './mcm/flags.ts';

const OWN_COPY = fileURLToPath(new URL('../../testdata', import.meta.url));

const outcomes: Outcome[] = [];
for await (const outcome of mcmFlags.run(OWN_COPY)) outcomes.push(outcome);

test.each(['machine-controller-manager', 'machine-controller'])(
  '%s: every flag of the original is accepted and has its default',
  (program) => {
    const own = outcomes.filter(({ name }) => name.startsWith(`${program} `));
    expect(own.length).toBeGreaterThan(10);
    expect(own.filter(({ failure }) => failure !== undefined)).toEqual([]);
  },
);

test('only the defaults of ignored flags are not compared', () => {
  expect(sumOf(outcomes.map(({ counts }) => counts))).toEqual({
    flags: 62,
    'flags that mcm ignores': 14,
    'flags with another default': 2,
  });
});
