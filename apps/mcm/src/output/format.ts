import { createRequire } from 'node:module';

/** Loaded by whoever is asked for YAML. */
const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml') as typeof import('yaml');

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
  if (format === 'yaml') return [yaml().stringify(model).trimEnd()];
  return [...text(model, format === 'wide')];
}

/** One of many that follow each other: JSON is one object a line, YAML one document each. */
export function eachFormatted(format: OutputFormat, model: object, text: string): string[] {
  if (format === 'json') return [JSON.stringify(model)];
  if (format === 'yaml') return ['---', yaml().stringify(model).trimEnd()];
  return [text];
}

/** Objects to apply: a `List` as JSON, else a stream of YAML documents, which is also what a person reads. */
export function listFormatted(format: OutputFormat, objects: readonly object[], text: () => string): string[] {
  if (format === 'json') return formatted(format, { apiVersion: 'v1', kind: 'List', items: objects }, () => []);
  const stream = format === 'yaml' ? yamlStream(objects) : text();
  return stream === '' ? [] : [stream.trimEnd()];
}

/** Several objects as one YAML stream. */
export const yamlStream = (objects: readonly object[]): string =>
  objects.map((object) => yaml().stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
