import { createRequire } from 'node:module';
import type { CreateNodeOptions, DocumentOptions, ToStringOptions } from 'yaml';
import { escapedInQuotes, needsQuotes, printable } from './printable.ts';
import { columnsOf, wrapped, wrappedText } from './wrap.ts';

/** Loads the package `yaml`, which only YAML output needs. */
const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml') as typeof import('yaml');

function yamlOf(model: unknown, options: ToStringOptions & CreateNodeOptions & DocumentOptions = {}): string {
  const { Document, visit } = yaml();
  const document = new Document(model, options);
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && needsQuotes(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return escapedInQuotes(document.toString(options));
}

export const OUTPUT_FORMATS = ['text', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * Formats the output of a command: lines of text, or the model as JSON or YAML.
 * @param text Returns the lines of text. If `wide` is true, the lines contain additional columns.
 * @param columns The width of the terminal. For a file or a pipe, `columns` is undefined.
 */
export function formatted<T>(
  format: OutputFormat,
  model: T,
  text: (model: T, wide: boolean) => readonly string[],
  columns = columnsOf(process.stdout),
): string[] {
  if (format === 'json') return [escapedInQuotes(JSON.stringify(model, undefined, 2))];
  if (format === 'yaml') return [yamlOf(model).trimEnd()];
  return text(model, format === 'wide').flatMap((line) => wrapped(printable(line), columns));
}

export function printProblem(message: string): void {
  const lines = `mcm: ${message}`.split('\n').map(printable).join('\n');
  process.stderr.write(`${wrappedText(lines, columnsOf(process.stderr))}\n`);
}

/** Formats an item of a sequence. In JSON, an item is one line. In YAML, an item is one document. */
export function eachFormatted(
  format: OutputFormat,
  model: object,
  text: string,
  columns = columnsOf(process.stdout),
): readonly string[] {
  if (format === 'json') return [escapedInQuotes(JSON.stringify(model))];
  if (format === 'yaml') return ['---', yamlOf(model).trimEnd()];
  return wrapped(printable(text), columns);
}

/** Formats objects so that users can apply them. */
export function listFormatted(format: OutputFormat, objects: readonly object[], text: () => string): string[] {
  if (format === 'json') return formatted(format, { apiVersion: 'v1', kind: 'List', items: objects }, () => []);
  const stream = format === 'yaml' ? yamlStream(objects) : text();
  return stream === '' ? [] : [stream.trimEnd()];
}

/** Formats several objects as a stream of YAML documents. */
export const yamlStream = (objects: readonly object[]): string =>
  objects.map((object) => yamlOf(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
