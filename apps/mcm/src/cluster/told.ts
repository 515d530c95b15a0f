import type { CommandSurroundings } from '../command/surroundings.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { unreadLines } from './allowed.ts';

/** The outputs of a command for a model. */
export type Telling = Pick<CommandSurroundings, 'say' | 'draw' | 'warn'>;

/**
 * Prints a model, and what could not be read of it.
 * With JSON and YAML, the unread kinds go to standard error, because the output has no field for them.
 */
export function tell<T>(
  { say, draw, warn }: Telling,
  format: OutputFormat,
  { model, unread }: { readonly model: T; readonly unread: ReadonlySet<string> },
  text: (model: T, wide: boolean) => readonly string[],
): void {
  const gaps = unreadLines([...unread]);
  for (const line of formatted(format, model, (all, wide) => [...text(all, wide).map(draw), ...gaps])) say(line);
  if (format === 'json' || format === 'yaml') for (const line of gaps) warn(line);
}
