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
    ...{ path, sign, words },
  }));

/** Those of them that are not there. */
export const absentTests = (named: readonly NamedTest[]): readonly string[] =>
  named
    .filter(({ path, sign, words }) => {
      const file = join(ROOT, path);
      if (!existsSync(file) || (sign === '›') !== path.endsWith('.test.ts')) return true;
      return !readFileSync(file, 'utf8').includes(words);
    })
    .map(({ path, words }) => `${path}: ${words}`);
