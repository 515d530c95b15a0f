import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

type Library = typeof import('re2js');

let loaded: Library | undefined;

/** The library is loaded with the first expression: few planes have one. */
function load(): Library {
  loaded ??= createRequire(import.meta.url)('re2js') as Library;
  return loaded;
}

/** A regular expression of Go. Its time is linear in the text, whatever the expression is. */
export interface GoRegExp {
  /** Whether some part of the text matches. */
  test(text: string): boolean;
  /** The first `limit` parts that match; all of them for a negative limit. */
  find(text: string, limit: number): string[];
}

/** An expression that Go refuses too. The message has Go's words. */
export class RegExpError extends Error {
  override readonly name = 'RegExpError';
}

/** Go shows the whole expression where it names no part of it; behind a trailing backslash there is nothing to show. */
function wordsOf(message: string, expression: string): string {
  if (message.endsWith('`')) return message;
  return `${message}: \`${message.includes('trailing backslash') ? '' : expression}\``;
}

/** Reads an expression as Go's package `regexp` does, or tells why it cannot be read. */
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
      // Go leaves out an empty match that touches the one before.
      if (matcher.start() !== matcher.end() || matcher.start() !== end) found.push(matcher.group() ?? '');
      end = matcher.end();
    }
    return found;
  }
}
