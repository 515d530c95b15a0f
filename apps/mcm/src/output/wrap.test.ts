import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wrapped } from './wrap.ts';

test('a line that fits, and a line for a pipe, stays as it is', () => {
  expect(wrapped('a short line', 40)).toEqual(['a short line']);
  expect(wrapped('x '.repeat(100), undefined)).toEqual(['x '.repeat(100)]);
});

describe('later lines are indented below the first one', () => {
  test('later lines of a list are indented below the first one', () => {
    expect(wrapped('  - the machine waits for its node to join the cluster', 30)).toEqual([
      '  - the machine waits for its',
      '      node to join the cluster',
    ]);
  });

  test('later lines of a tree are indented below the first one, and its branches continue', () => {
    expect(wrapped('├─ machine/m  Unknown for 5m  – its node is unreachable', 32)).toEqual([
      '├─ machine/m  Unknown for 5m  –',
      '│    its node is unreachable',
    ]);
  });
});

test.each([40, 60, 80, 200])('at %d columns, no word is broken and none is lost', (columns) => {
  const word = fc.string({ unit: fc.constantFrom(...'abcdefgh/-.0'), minLength: 1, maxLength: 30 });
  const lead = fc.constantFrom('', '  ', '  - ', '│  └─ ', '├─ ');
  fc.assert(
    fc.property(lead, fc.array(word, { minLength: 1, maxLength: 60 }), (before, words) => {
      const lines = wrapped(`${before}a ${words.join(' ')}`, columns);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      const text = lines.map((line, index) => (index === 0 ? line.slice(before.length) : line.replace(/^[\s│]+/, '')));
      expect(text.join(' ')).toBe(`a ${words.join(' ')}`);
    }),
    { numRuns: 200, seed: 7 },
  );
});

test('a longer word has its own line', () => {
  expect(wrapped(`  see ${'x'.repeat(60)} now`, 40)).toEqual(['  see', `    ${'x'.repeat(60)}`, '    now']);
});
