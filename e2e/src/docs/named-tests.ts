import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

/** A test or a part of a document, as a page names it. */
export interface NamedTest {
  readonly path: string;
  /** `›` names a test by its title, `§` a document by words in it. */
  readonly sign: string;
  readonly words: string;
}

/** All that a page names: `file › title` between backticks is a test, `file § words` a document. */
export const namedTests = (page: string): readonly NamedTest[] =>
  [...page.matchAll(/`([\w./-]+\.(?:ts|md)) ([›§]) ([^`]+)`/g)].map(([, path = '', sign = '', words = '']) => ({
    path,
    sign,
    words,
  }));

/** A comment or an expectation is not a title, although it may contain the same words. */
const isTitleLess = (line: string): boolean => /^\s*(\/\/|\/?\*|expect\b)/.test(line);

/** Whether a file has the words: of a test, where its title may stand, which for tables is among their rows. */
function has({ sign, words }: NamedTest, text: string): boolean {
  return sign === '§'
    ? text.includes(words)
    : text.split('\n').some((line) => line.includes(words) && !isTitleLess(line));
}

/** Named tests that do not exist. */
export const absentTests = (named: readonly NamedTest[]): readonly string[] =>
  named
    .filter((one) => {
      const file = join(ROOT, one.path);
      if (!existsSync(file) || (one.sign === '›') !== one.path.endsWith('.test.ts')) return true;
      return !has(one, readFileSync(file, 'utf8'));
    })
    .map(({ path, words }) => `${path}: ${words}`);
