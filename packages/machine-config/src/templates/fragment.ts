import { parse } from 'yaml';
import * as z from 'zod';
import { emptyIgnition, encodeDataUrl, type IgnitionConfig } from '../ignition/index.ts';
import { TemplateError } from './engine.ts';

const optional = z.exactOptional;

const fileFragment = z.strictObject({
  path: z.string(),
  mode: optional(z.int()),
  contents: optional(z.strictObject({ inline: optional(z.string()) })),
});

const unitFragment = z.strictObject({
  name: z.string(),
  enabled: optional(z.boolean()),
  mask: optional(z.boolean()),
  contents: optional(z.string()),
  dropins: optional(z.array(z.strictObject({ name: z.string(), contents: optional(z.string()) }))),
});

/** Parses the YAML of a template. Modes in a template are octal numbers with a leading zero, as in YAML 1.1. */
function read<T extends z.ZodType>(schema: T, path: string, text: string): z.output<T> {
  let raw: unknown;
  try {
    raw = parse(text, { version: '1.1' });
  } catch (error) {
    throw new TemplateError(`template ${path} is not valid YAML: ${(error as Error).message}`, { cause: error });
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new TemplateError(`template ${path}: ${z.prettifyError(parsed.error)}`);
}

/** @throws TemplateError */
export function fileConfig(path: string, text: string): IgnitionConfig {
  const { contents, ...file } = read(fileFragment, path, text);
  const source = contents?.inline === undefined ? undefined : encodeDataUrl(contents.inline);
  const content = source === undefined ? {} : { contents: { source }, overwrite: true };
  return { ...emptyIgnition(), storage: { files: [{ ...file, ...content }] } };
}

/** @throws TemplateError */
export const unitConfig = (path: string, text: string): IgnitionConfig => ({
  ...emptyIgnition(),
  systemd: { units: [read(unitFragment, path, text)] },
});
