import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './sources.ts';

/** Every export of a package must have TSDoc at its declaration. */

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const PASSED_ON = /^export (?:type )?(\*(?: as \w+)?|\{[^}]*\}) from '(\.[^']+)'/gm;

/** Returns the exported declarations of a file, and whether TSDoc is directly above each one. */
function declared(text: string): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  for (const match of text.matchAll(DECLARATION)) {
    const [, name = ''] = match;
    found.set(name, (found.get(name) ?? false) || text.slice(0, match.index).endsWith('*/\n'));
  }
  return found;
}

const entries = globSync('{packages,apps,providers}/*/package.json', { cwd: ROOT }).flatMap((path) => {
  const { exports = {} } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as {
    exports?: Record<string, { source?: string } | string>;
  };
  const sources = Object.values(exports).map((value) => (typeof value === 'string' ? value : (value.source ?? '')));
  return sources.filter((source) => source.endsWith('.ts')).map((source) => join(ROOT, dirname(path), source));
});

/** Returns the exports of all packages as `file: name`, and the exports without TSDoc. */
function walk(): { readonly all: ReadonlySet<string>; readonly bare: ReadonlySet<string> } {
  const all = new Set<string>();
  const bare = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string, names: readonly string[] | undefined): void => {
    const key = `${file} ${names?.join() ?? '*'}`;
    if (seen.has(key)) return;
    seen.add(key);
    const text = readFileSync(file, 'utf8');
    for (const [name, documented] of declared(text)) {
      if (names && !names.includes(name)) continue;
      const id = `${relative(ROOT, file)}: ${name}`;
      all.add(id);
      if (!documented) bare.add(id);
    }
    for (const [, what = '', specifier = ''] of text.matchAll(PASSED_ON)) {
      const listed = what.replace(/[{}]/g, '').split(',');
      const wanted = listed.map(
        (one) =>
          one
            .trim()
            .replace(/^type /, '')
            .split(' as ')[0] ?? '',
      );
      visit(normalize(join(dirname(file), specifier)), what.startsWith('*') ? undefined : wanted);
    }
  };
  for (const entry of entries) visit(entry, undefined);
  return { all, bare };
}

test('every export of every package has TSDoc', () => {
  const { all, bare } = walk();
  expect(entries.length).toBeGreaterThan(15);
  expect(all.size).toBeGreaterThan(900);
  expect([...bare].sort()).toEqual([]);
});

test('an export without TSDoc is found', () => {
  const text = [
    '/** A. */',
    'export const a = 1;',
    'export function b() {}',
    '',
    '/** C. */',
    '',
    'export type C = 1;',
  ];
  expect([...declared(text.join('\n'))]).toEqual([
    ['a', true],
    ['b', false],
    ['C', false],
  ]);
});
