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

/** One of many that follow each other: JSON is one object a line, YAML one document each. */
export function eachFormatted(format: OutputFormat, model: object, text: string): string[] {
  if (format === 'json') return [JSON.stringify(model)];
  if (format === 'yaml') return ['---', stringify(model).trimEnd()];
  return [text];
}

/** A text for a person as a program takes it: its parts, which empty lines divide, each with its first line as the title. */
export interface ToldSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Cuts lines for a person into their parts. */
export function sectionsOf(lines: readonly string[]): ToldSection[] {
  const sections: { title: string; lines: string[] }[] = [];
  let begins = true;
  for (const line of lines) {
    if (line !== '' && begins) sections.push({ title: line.replace(/:$/, ''), lines: [] });
    else if (line !== '') sections.at(-1)?.lines.push(line.trim().replace(/^- /, ''));
    begins = line === '';
  }
  return sections;
}
