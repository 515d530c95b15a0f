import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columns } from './columns.ts';
import { wrapped } from './wrap.ts';

test('a line that fits, or a line for a pipe, stays unchanged', () => {
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
      '├─ machine/m  Unknown for 5m',
      '│             – its node is',
      '│             unreachable',
    ]);
  });
});

test.each([40, 60, 80, 200])('at %d columns, no word is broken and none is lost', (width) => {
  const word = fc.string({ unit: fc.constantFrom(...'abcdefgh/-.0'), minLength: 1, maxLength: 30 });
  const lead = fc.constantFrom('', '  ', '  - ', '│  └─ ', '├─ ');
  fc.assert(
    fc.property(lead, fc.array(word, { minLength: 1, maxLength: 60 }), (before, words) => {
      const lines = wrapped(`${before}a ${words.join(' ')}`, width);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      const text = lines.map((line, index) => (index === 0 ? line.slice(before.length) : line.replace(/^[\s│]+/, '')));
      expect(text.join(' ')).toBe(`a ${words.join(' ')}`);
    }),
    { numRuns: 200, seed: 7 },
  );
});

describe('a row of a table continues below a cell', () => {
  const rows = columns([
    ['LAST SEEN', 'REASON', 'OBJECT', 'MESSAGE'],
    ['6m', 'ScalingMachineSet', 'machinedeployment/workers', 'Scaled up machine set workers-65444 to 3'],
    ['12m', 'Wait', 'machine/a', 'The machine waits for its node'],
  ]);

  test('a row continues below a cell in the left half', () => {
    expect(rows.flatMap((row) => wrapped(row, 80))).toEqual([
      'LAST SEEN  REASON             OBJECT                     MESSAGE',
      '6m         ScalingMachineSet  machinedeployment/workers',
      '                              Scaled up machine set workers-65444 to 3',
      '12m        Wait               machine/a',
      '                              The machine waits for its node',
    ]);
  });

  test('a last cell that fits stays in its line', () => {
    const row = 'machine-controller  replica-of-zone-a  Serving  3s ago  default  12  -  shoot--a';
    expect(wrapped(row, 60)).toEqual([
      'machine-controller  replica-of-zone-a  Serving  3s ago',
      '                    default  12  -  shoot--a',
    ]);
  });

  test('a row continues below an earlier cell in a narrow terminal', () => {
    expect(rows.flatMap((row) => wrapped(row, 40))).toEqual([
      'LAST SEEN  REASON             OBJECT',
      '           MESSAGE',
      '6m         ScalingMachineSet',
      '           machinedeployment/workers',
      '           Scaled up machine set',
      '           workers-65444 to 3',
      '12m        Wait               machine/a',
      '           The machine waits for its',
      '           node',
    ]);
  });

  test('a row of a tree continues its branches', () => {
    expect(wrapped('├─ machine/m  Pending  – the cloud has no capacity in the zone', 48)).toEqual([
      '├─ machine/m  Pending  – the cloud has no',
      '│                      capacity in the zone',
    ]);
  });
});

test.each([40, 60, 80, 120, 200])('at %d columns, rows of a table keep all words in their order', (width) => {
  const cell = fc.array(fc.string({ unit: fc.constantFrom(...'ab/-.0'), minLength: 1, maxLength: 24 }), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell, cell, cell), { minLength: 1, maxLength: 4 }), (table) => {
      for (const row of columns(table.map((cells) => cells.map((words) => words.join(' '))))) {
        const lines = wrapped(row, width);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        expect(lines.join(' ').trim().split(/\s+/)).toEqual(row.trim().split(/\s+/));
      }
    }),
    { numRuns: 200, seed: 7 },
  );
});

test('a longer word has its own line', () => {
  expect(wrapped(`  see ${'x'.repeat(60)} now`, 40)).toEqual(['  see', `    ${'x'.repeat(60)}`, '    now']);
});
