import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './sources.ts';

const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => !path.includes('/testdata/') && existsSync(join(ROOT, path)));

/** Removes code from a text, because code contains no links. */
const prose = (text: string): string => text.replaceAll(/```[\s\S]*?```/g, '').replaceAll(/`[^`\n]*`/g, 'code');

const linksIn = (text: string): string[] =>
  [...prose(text).matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(([, target = '']) => target);

const anchor = (heading: string): string =>
  heading
    .replaceAll(/[`*]|\[|\]\([^)]*\)/g, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#+\s+(.*)$/gm)].map(([, heading = '']) => anchor(heading)),
  );

/** Returns the error of a link in a page. */
function problem(page: string, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = '', fragment] = link.split('#', 2);
  const target = path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), decodeURIComponent(path));
  if (!existsSync(target)) return `${page}: ${link} is not there`;
  if (fragment === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(target, 'utf8')).has(fragment)
    ? undefined
    : `${page}: ${relative(ROOT, target)} has no heading #${fragment}`;
}

test('the target of every link between pages exists', () => {
  expect(pages.length).toBeGreaterThan(30);
  const problems = pages.flatMap((page) =>
    linksIn(readFileSync(join(ROOT, page), 'utf8')).flatMap((link) => problem(page, link) ?? []),
  );
  expect(problems).toEqual([]);
});

test('a link without a target is found, and code contains no links', () => {
  expect(linksIn('[a](b.md#c) `[x](y)` ![i](p.png "title")')).toEqual(['b.md#c', 'p.png']);
  expect(problem('README.md', 'docs/none.md')).toBe('README.md: docs/none.md is not there');
  expect(problem('docs/images.md', '#nothing')).toBe('docs/images.md: docs/images.md has no heading #nothing');
  expect(problem('docs/images.md', '#builds-without-a-container-engine')).toBeUndefined();
});
