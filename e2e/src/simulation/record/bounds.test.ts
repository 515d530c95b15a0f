import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BOUNDS, type Bound, boundText } from './bounds.ts';

const SIMULATION = join(import.meta.dirname, '..');
const PAGE = join(SIMULATION, '../../../docs/contributing/simulation.md');
const RULES = [
  ...['record', 'verifiers'].flatMap((folder) =>
    readdirSync(join(SIMULATION, folder)).map((name) => join(SIMULATION, folder, name)),
  ),
  ...['machine-verifier.ts', 'final-checks.ts', 'status-verifier.ts'].map((name) => join(SIMULATION, 'machines', name)),
].filter((path) => !path.endsWith('.test.ts') && !path.endsWith('bounds.ts'));

test('the page lists every rule with its bound', () => {
  const all: readonly Bound[] = Object.values(BOUNDS);
  const rows = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Rule') && !line.startsWith('| ---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  expect(rows).toEqual(all.map((bound) => [bound.rule, bound.suites, boundText(bound)]));
});

test('every bound is used by a verifier or a history', () => {
  const sources = readdirSync(SIMULATION, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/bounds(\.test)?\.ts$/.test(path))
    .map((path) => readFileSync(join(SIMULATION, path), 'utf8'))
    .join('\n');
  expect(Object.keys(BOUNDS).filter((name) => !sources.includes(`BOUNDS.${name}.ms`))).toEqual([]);
});

test('no verifier has another time limit', () => {
  const own = RULES.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter(
        (line) => /^(export )?const [A-Z_]+(_MS)? = [\d_]+( \* [\d_A-Z]+)*;/.test(line) && !/MINUTE = /.test(line),
      )
      .filter((line) => !/^(export )?const (WRITES_A_MINUTE|REQUESTS|MAX_CALLS|CALLS_A_CLUSTER) /.test(line))
      .map((line) => `${path.slice(SIMULATION.length + 1)}: ${line}`),
  );
  expect(own).toEqual([]);
});
