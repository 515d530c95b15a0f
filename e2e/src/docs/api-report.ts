import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT } from './sources.ts';
import { declarationsIn, withoutComments } from './text/declaration-text.ts';

const PASSED_ON = /^export (?:type )?(\*(?: as \w+)?|\{[^}]*\}) from '([^']+)'/gm;

interface Package {
  readonly name: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, { readonly source?: string } | string>>;
}

/** Returns the items of an export list, each with the original name and the exported name. */
const renamed = (list: string): (readonly [there: string, here: string])[] =>
  list
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((one) => one.trim().replace(/^type /, ''))
    .filter((one) => one !== '')
    .map((one) => {
      const [there = '', here = there] = one.split(' as ');
      return [there, here];
    });

function exportsOf(file: string): ReadonlyMap<string, string> {
  const source = readFileSync(file, 'utf8');
  const found = new Map<string, string>();
  // A schema and its type share one name.
  for (const { name, text } of declarationsIn(source)) {
    const before = found.get(name);
    found.set(name, before === undefined ? text : `${before}\n${text}`);
  }
  for (const [, what = '', specifier = ''] of withoutComments(source).matchAll(PASSED_ON)) {
    if (!specifier.startsWith('.')) {
      const names = what.startsWith('*') ? [what] : renamed(what).map(([, here]) => here);
      for (const name of names) found.set(name, `export { ${name} } from '${specifier}';`);
      continue;
    }
    const there = exportsOf(normalize(join(dirname(file), specifier)));
    if (what.startsWith('* as '))
      found.set(what.slice(5), `export * as ${what.slice(5)}: ${[...there.keys()].sort().join(', ')};`);
    else if (what === '*') for (const [name, text] of there) found.set(name, text);
    else for (const [name, here] of renamed(what)) found.set(here, label(name, here, there.get(name)));
  }
  return found;
}

const label = (there: string, here: string, text: string | undefined): string => {
  if (text === undefined) return `export ${here};`;
  return there === here ? text : `// as ${here}\n${text}`;
};

/** Generates a report about the exports of each public package. */
export function apiReportFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const path of globSync('{packages,apps,providers}/*/package.json', { cwd: ROOT }).toSorted()) {
    const { name, private: hidden, exports = {} } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Package;
    if (hidden === true) continue;
    const parts = [`// What ${name} exports. Made by pnpm generate; this file omits bodies and comments.`];
    for (const [subpath, value] of Object.entries(exports).toSorted()) {
      const source = typeof value === 'string' ? value : (value.source ?? '');
      if (!source.endsWith('.ts') || source.includes('*')) continue;
      const all = [...exportsOf(join(ROOT, dirname(path), source))].toSorted(([a], [b]) => (a < b ? -1 : 1));
      parts.push(`\n// ---- ${join(name, subpath)}`, ...all.map(([, text]) => `\n${text}`));
    }
    files.set(`docs/reference/api/${name.replace('@', '').replace('/', '-')}.txt`, `${parts.join('\n')}\n`);
  }
  return files;
}
