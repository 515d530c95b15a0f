import { expect, test } from 'vitest';
import { apiReportFiles } from './api-report.ts';
import { declarationsIn } from './text/declaration-text.ts';

const texts = (...lines: string[]): string[] => declarationsIn(lines.join('\n')).map(({ text }) => text);

test('a report contains signatures and types, and neither bodies nor comments', () => {
  expect(
    texts(
      '/** Not this. */',
      'export async function* f<T>(a: { b: T }, c = "}"): AsyncIterable<{ d: T }> {',
      '  return; // nor this',
      '}',
      'export function g(): { x: 1 } {',
      '  return { x: 1 };',
      '}',
      "export const NAME = 'x';",
      'export const call = (a: string): number => {',
      '  return a.length;',
      '};',
      'export const table: Record<string, 1> = { a: 1 };',
      'export const big = make({ a: 1 });',
      "export type Kind = 'a' | { b: ';' };",
      'export interface Shape extends Other {',
      '  /** Nor this. */',
      '  readonly a: string;',
      '',
      '  b(): { c: 1 };',
      '}',
      'const hidden = 1;',
    ),
  ).toEqual([
    'export async function* f<T>(a: { b: T }, c = "}"): AsyncIterable<{ d: T }>;',
    'export function g(): { x: 1 };',
    "export const NAME = 'x';",
    'export const call = (a: string): number => …;',
    'export const table: Record<string, 1>;',
    'export const big;',
    "export type Kind = 'a' | { b: ';' };",
    'export interface Shape extends Other {\n  readonly a: string;\n  b(): { c: 1 };\n}',
  ]);
});

test('the report of a class contains only its accessible members', () => {
  expect(
    texts(
      'export class Box<T> extends Base {',
      '  readonly #secret: T;',
      "  override readonly name = 'Box';",
      '  private readonly also = 1;',
      '  constructor(value: T, more: { a?: 1 } = {}) {',
      '    super();',
      '    this.#secret = value;',
      '  }',
      '  get size(): number {',
      '    return 1;',
      '  }',
      '  #hidden(): void {}',
      '}',
    ),
  ).toEqual([
    'export class Box<T> extends Base {\n  override readonly name;\n  constructor(value: T, more: { a?: 1 } = {});\n  get size(): number;\n}',
  ]);
});

test('every public package has a report, and the report of the SDK contains the names that drivers use', () => {
  const reports = apiReportFiles();
  expect([...reports.keys()]).toContain('docs/reference/api/mcm-core.txt');
  const core = reports.get('docs/reference/api/mcm-core.txt') ?? '';
  for (const name of ['defineDriver', 'MachineError', 'runMachineController'])
    expect(core).toMatch(new RegExp(`^export [^\\n]*\\b${name}\\b`, 'm'));
  for (const text of reports.values()) expect(text).not.toMatch(/\/\*\*|^export \w+;$/m);
});
