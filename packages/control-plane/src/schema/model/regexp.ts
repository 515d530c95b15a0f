import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

type Library = typeof import('re2js');

let loaded: Library | undefined;

/** Loads the library for regular expressions at the first use, because few control planes need it. */
function load(): Library {
  loaded ??= createRequire(import.meta.url)('re2js') as Library;
  return loaded;
}

/** The time of a match is linear in the length of the text. */
export interface GoRegExp {
  /** Returns whether the expression matches a part of the text. */
  test(text: string): boolean;
  /** If `limit` is negative, the function returns all matches. */
  find(text: string, limit: number): string[];
}

export class RegExpError extends Error {
  override readonly name = 'RegExpError';
}

/**
 * Returns the error text of Go. If the error names no part of the expression, Go quotes the whole expression. For a
 * backslash at the end, Go quotes an empty text.
 */
function wordsOf(message: string, expression: string): string {
  if (message.endsWith('`')) return message;
  return `${message}: \`${message.includes('trailing backslash') ? '' : expression}\``;
}

/** Compiles an expression, or returns the error of an invalid expression. */
export function readRegExp(expression: string): GoRegExp | RegExpError {
  const library = load();
  try {
    return new Compiled(library.RE2JS.compile(expression));
  } catch (error) {
    if (error instanceof library.RE2JSException)
      return new RegExpError(wordsOf(error.message, expression), { cause: error });
    throw error;
  }
}

class Compiled implements GoRegExp {
  readonly #compiled: RE2JS;

  constructor(compiled: RE2JS) {
    this.#compiled = compiled;
  }

  test(text: string): boolean {
    return this.#compiled.test(text);
  }

  find(text: string, limit: number): string[] {
    const found: string[] = [];
    const matcher = this.#compiled.matcher(text);
    let end = -1;
    while (found.length !== limit && matcher.find()) {
      if (matcher.start() !== matcher.end() || matcher.start() !== end) found.push(matcher.group() ?? '');
      end = matcher.end();
    }
    return found;
  }
}
