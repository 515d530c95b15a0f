import { nearest } from './nearest.ts';

const UNKNOWN = /unknown option '(?<flag>--[^'=]+)=[^']*'(?<hint>\s*\(Did you mean [^)]*\))?/;

/**
 * A refusal of commander's, of which an unknown flag is told without its value, that may be a secret, and with the nearest: commander
 * itself looks for one that is near to flag and value together.
 * @param flags With their dashes.
 */
export function toldRefusal(text: string, flags: readonly string[]): string {
  const { flag, hint = '' } = UNKNOWN.exec(text)?.groups ?? {};
  if (flag === undefined) return text;
  const meant = nearest(flag, flags);
  return text.replace(UNKNOWN, `unknown option '${flag}'${meant === undefined ? hint : ` (Did you mean ${meant}?)`}`);
}
