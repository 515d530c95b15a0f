import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

export interface NamedTest {
  readonly path: string;
  readonly sign: string;
  readonly words: string;
}

/** Returns the references in a page. */
export const namedTests = (page: string): readonly NamedTest[] =>
  [...page.matchAll(/`([\w./-]+\.(?:ts|md)) ([›§]) ([^`]+)`/g)].map(([, path = '', sign = '', words = '']) => ({
    path,
    sign,
    words,
  }));

const isTitleLess = (line: string): boolean => /^\s*(\/\/|\/?\*|expect\b)/.test(line);

/** Returns whether a file contains the words of a reference. */
function has({ sign, words }: NamedTest, text: string): boolean {
  return sign === '§'
    ? text.includes(words)
    : text.split('\n').some((line) => line.includes(words) && !isTitleLess(line));
}

/** Returns references to tests or words that do not exist. */
export const absentTests = (named: readonly NamedTest[]): readonly string[] =>
  named
    .filter((one) => {
      const file = join(ROOT, one.path);
      if (!existsSync(file) || (one.sign === '›') !== one.path.endsWith('.test.ts')) return true;
      return !has(one, readFileSync(file, 'utf8'));
    })
    .map(({ path, words }) => `${path}: ${words}`);
