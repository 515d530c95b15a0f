import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../harness/mcm.ts';

const FOLDER = join(ROOT, '.changeset');
const changesets = readdirSync(FOLDER).filter((name) => name.endsWith('.md') && name !== 'README.md');

const published = ['packages', 'providers', 'apps'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => JSON.parse(readFileSync(join(ROOT, folder, name, 'package.json'), 'utf8')) as Manifest)
    .filter((manifest) => manifest.private !== true)
    .map(({ name }) => name),
);

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
}

test.each(changesets)('changeset %s contains published packages, the kind of release, and the reason', (name) => {
  const [, front = '', text = ''] =
    /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(readFileSync(join(FOLDER, name), 'utf8')) ?? [];
  const bumps = Object.entries((parse(front) ?? {}) as Record<string, string>);
  expect(bumps.length).toBeGreaterThan(0);
  expect(front).toMatch(/^('@mcm\/[\w-]+': \w+\n?)+$/);
  for (const [named, bump] of bumps) {
    expect(published).toContain(named);
    expect(['patch', 'minor', 'major']).toContain(bump);
  }
  expect(text.trim()).not.toBe('');
});

test('all published packages have one version, as the configuration of changesets requires', () => {
  const { fixed } = JSON.parse(readFileSync(join(FOLDER, 'config.json'), 'utf8')) as { readonly fixed: string[][] };
  expect(fixed).toEqual([['@mcm/*']]);
  // In a package registry, a name without a scope may belong to another owner.
  expect(published.filter((name) => !name.startsWith('@mcm/'))).toEqual([]);
});
