import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { defined, errorText } from '@mcm/kube';
import { z } from 'zod';

const recordedRequest = z.looseObject({
  action: z.string().default(''),
  params: z.record(z.string(), z.string()).default({}),
  method: z.string().default(''),
  path: z.string().default(''),
  query: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
  form: z.record(z.string(), z.unknown()).optional(),
  host: z.string().optional(),
  authorization: z.string().optional(),
  auth: z
    .looseObject({
      accessKeyId: z.string(),
      secretAccessKey: z.string(),
      sessionToken: z.string().optional(),
      region: z.string(),
      service: z.string(),
    })
    .nullish(),
  answer: z.looseObject({ http: z.number().optional(), body: z.string().optional() }).optional(),
  answered: z.number().optional(),
});
export type RecordedRequest = z.infer<typeof recordedRequest>;

const result = z.looseObject({
  response: z.record(z.string(), z.unknown()).nullable().default(null),
  errorCode: z.string().nullable().default(null),
  errorText: z.string().nullish(),
  textIs: z.enum(['driver', 'sdk', 'decoder']).optional(),
  cloudError: z
    .looseObject({ http: z.number().nullish(), code: z.string().nullish(), message: z.string().nullish() })
    .nullish(),
  panic: z.unknown().optional(),
});
export type RecordedResult = z.infer<typeof result>;

const recordedCall = z.object({
  requests: z.array(recordedRequest),
  result,
  metrics: z.record(z.string(), z.union([z.number(), z.string()])).optional(),
});
export type RecordedCall = z.infer<typeof recordedCall>;

const step = recordedCall.extend({ method: z.string(), providerID: z.string().optional() });
export type RecordedStep = z.infer<typeof step>;

const methodCase = z.looseObject({
  name: z.string(),
  title: z.string(),
  method: z.string().optional(),
  provider: z.string().optional(),
  providerSpec: z.unknown().optional(),
  providerSpecRaw: z.string().optional(),
  secret: z.record(z.string(), z.string()).nullish(),
  secretBase64: z.record(z.string(), z.string()).optional(),
  files: z.record(z.string(), z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  machine: z
    .looseObject({
      name: z.string().optional(),
      providerID: z.string().optional(),
      nodeTemplateAnnotations: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  pvSpecs: z.array(z.record(z.string(), z.unknown()).nullable()).optional(),
  cloud: z.unknown().optional(),
  recordsToken: z.boolean().optional(),
  visibilityBudgetMs: z.number().optional(),
  callerCancelled: z.boolean().optional(),
  callerDeadlineMs: z.number().optional(),
  steps: z.array(step).optional(),
  requests: z.array(recordedRequest).optional(),
  result: result.optional(),
  metrics: recordedCall.shape.metrics,
  alsoAccepted: z.array(recordedCall).optional(),
});
export type RecordedCase = z.infer<typeof methodCase>;

const file = z.looseObject({ format: z.literal(1), cases: z.array(z.unknown()) });

/** A case, or the reason why the case cannot be replayed. */
export type ReadCase =
  | { readonly name: string; readonly recorded: RecordedCase }
  | { readonly name: string; readonly problem: string };

/** Reads the cases of a cloud from `golden/drivers/<cloud>/*.json` or `drivers/<cloud>/*.json` in `dir`. */
export async function readCases(dir: string, cloud: string): Promise<readonly ReadCase[]> {
  const candidates = [join(dir, 'golden', 'drivers', cloud), join(dir, 'drivers', cloud), join(dir, cloud)];
  for (const folder of candidates) {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) continue;
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
    return (await Promise.all(files.map((name) => readFileCases(join(folder, name))))).flat();
  }
  throw new Error(`${dir} has no folder golden/drivers/${cloud}/: --from must name its parent folder`);
}

async function readFileCases(path: string): Promise<readonly ReadCase[]> {
  try {
    const parsed = file.safeParse(JSON.parse(await readFile(path, 'utf8')));
    if (parsed.success) return parsed.data.cases.map((each, i) => readCase(each, `${basename(path)} case ${i + 1}`));
    return [{ name: path, problem: `not a recording of format 1: ${z.prettifyError(parsed.error)}` }];
  } catch (thrown) {
    return [{ name: path, problem: `cannot be read: ${errorText(thrown)}` }];
  }
}

const named = z.looseObject({ name: z.string() });

function readCase(given: unknown, place: string): ReadCase {
  const parsed = methodCase.safeParse(given);
  if (parsed.success) return { name: parsed.data.name, recorded: parsed.data };
  const name = named.safeParse(given).data?.name ?? place;
  return { name, problem: `not a case of format 1: ${z.prettifyError(parsed.error)}` };
}

export const callsOf = (recorded: RecordedCase): readonly RecordedStep[] => {
  if (recorded.steps) return recorded.steps;
  const { method, requests = [], result: outcome, metrics, machine } = recorded;
  if (!method || !outcome) throw new Error(`case ${recorded.name} has neither steps nor method and result`);
  const { providerID } = machine ?? {};
  return [
    defined({
      method,
      requests,
      result: outcome,
      metrics,
      providerID,
    }),
  ];
};

/** Returns true if a text is JSON. */
export function isJson(raw: string): boolean {
  try {
    JSON.parse(raw);
    return true;
  } catch {
    return false;
  }
}
