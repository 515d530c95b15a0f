import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';

const answer = z.strictObject({
  status: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});

/** The schema of the file for `--config`. */
export const conformanceConfig = z.strictObject({
  machineClass: z.strictObject({
    provider: z.string().optional(),
    providerSpec: z.record(z.string(), z.unknown()),
  }),
  /** An environment variable replaces `${NAME}`, so that the file contains no secrets. */
  secret: z.record(z.string(), z.string()),
  dialect: z.strictObject({
    writes: z.string().optional(),
    throttled: answer,
    exhausted: answer,
    quota: answer.optional(),
    unauthorized: answer.optional(),
  }),
  alternative: z
    .strictObject({
      machineType: z.string().optional(),
      zone: z.string().optional(),
      subnet: z.string().optional(),
      market: z.enum(['spot', 'on-demand']).optional(),
    })
    .optional(),
  otherCluster: z.record(z.string(), z.unknown()).optional(),
  volumes: z.array(z.strictObject({ source: z.record(z.string(), z.unknown()), id: z.string().nullable() })).optional(),
  ignoredFields: z.array(z.string()).optional(),
  machines: z.int().min(1).max(1000).optional(),
  listed: z.int().min(1).max(5000).optional(),
});
/** The content of a configuration file. */
export type ConformanceConfig = z.infer<typeof conformanceConfig>;

/**
 * Parses a configuration file, and inserts environment variables into its secret.
 * @throws Error with the path of the file, and the invalid line or field
 */
export function readConfig(
  path: string,
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
): ConformanceConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { merge: true, lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken !== undefined) throw new Error(`${path}:${lines.linePos(broken.pos[0]).line}: ${broken.message}`);
  const parsed = conformanceConfig.safeParse(document.toJS());
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  const filled = Object.entries(parsed.data.secret).map(([key, value]) => [key, fill(path, key, value, variables)]);
  return { ...parsed.data, secret: Object.fromEntries(filled) };
}

const fill = (
  path: string,
  key: string,
  value: string,
  variables: Readonly<Record<string, string | undefined>>,
): string =>
  value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const found = variables[name];
    if (found === undefined) throw new Error(`${path}: secret.${key} needs the environment variable ${name}`);
    return found;
  });
