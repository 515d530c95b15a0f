import type { CommandEnvironment } from '../command/environment.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { unreadLines } from './allowed.ts';

export type Telling = Pick<CommandEnvironment, 'say' | 'draw' | 'warn'>;

interface Reported<T> {
  readonly model: T;
  readonly unread: ReadonlySet<string>;
  readonly before?: readonly string[];
}

/**
 * Prints the result of a command, and the kinds that the user cannot read. For JSON and YAML, only the model is printed
 * to standard output.
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
