import { stringify } from 'yaml';

/** How a command prints what it found. */
export const OUTPUT_FORMATS = ['text', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * The lines to print: for a person, or the model itself for a program.
 * @param text Lines for a person; `wide` asks for more columns.
 */
export function formatted<T>(
  format: OutputFormat,
  model: T,
  text: (model: T, wide: boolean) => readonly string[],
): string[] {
  if (format === 'json') return [JSON.stringify(model, undefined, 2)];
  if (format === 'yaml') return [stringify(model).trimEnd()];
  return [...text(model, format === 'wide')];
}
