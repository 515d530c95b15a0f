import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

type Library = typeof import('re2js');

let loaded: Library | undefined;

/** Loads the library for the first regular expression, because few control planes use regular expressions. */
function load(): Library {
  loaded ??= createRequire(import.meta.url)('re2js') as Library;
  return loaded;
}

/** A Go regular expression. For every expression, the time of a match is linear in the length of the text. */
export interface GoRegExp {
  /** Returns whether the expression matches a part of the text. */
  test(text: string): boolean;
  /** Returns the first `limit` matches, or all matches if the limit is negative. */
  find(text: string, limit: number): string[];
}

/** The error for an expression that Go refuses. The message is Go's error text. */
export class RegExpError extends Error {
  override readonly name = 'RegExpError';
}

/**
 * Returns the part of the expression that Go's error quotes. If the error of the library names no part, Go quotes the
 * whole expression. For a trailing backslash, Go quotes an empty text.
 */
function wordsOf(message: string, expression: string): string {
  if (message.endsWith('`')) return message;
  return `${message}: \`${message.includes('trailing backslash') ? '' : expression}\``;
}

/** Parses an expression as Go's package `regexp` does. For an invalid expression, the result is the error. */
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
