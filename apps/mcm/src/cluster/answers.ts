import type { CommandEnvironment } from '../command/environment.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { unreadLines } from './allowed.ts';

/** The outputs of a command for a model. */
export type Telling = Pick<CommandEnvironment, 'say' | 'draw' | 'warn'>;

/** A model, the refusals of the server, and the lines before it, which do not belong to the model. */
interface Reported<T> {
  readonly model: T;
  readonly unread: ReadonlySet<string>;
  readonly before?: readonly string[];
}

/**
 * Prints a model, and what could not be read of it.
 * With JSON and YAML, the unread kinds and the lines before the model go to standard error, because the output has no field for them.
 */
export function tell<T>(
  { say, draw, warn }: Telling,
  format: OutputFormat,
  { model, unread, before = [] }: Reported<T>,
  text: (model: T, wide: boolean) => readonly string[],
): void {
  const gaps = unreadLines([...unread]);
  const head = before.length === 0 ? [] : [...before, ''];
  for (const line of formatted(format, model, (all, wide) => [...[...head, ...text(all, wide)].map(draw), ...gaps]))
    say(line);
  if (format === 'json' || format === 'yaml') for (const line of [...before, ...gaps]) warn(line);
}
