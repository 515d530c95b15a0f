import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** A request that the original sent. */
export const recordedRequest = z.looseObject({
  /** EC2's Query API. */
  action: z.string().default(''),
  params: z.record(z.string(), z.string()).default({}),
  /** REST APIs. */
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
});
export type RecordedRequest = z.infer<typeof recordedRequest>;

const result = z.looseObject({
  response: z.record(z.string(), z.unknown()).nullable().default(null),
  errorCode: z.string().nullable().default(null),
  errorText: z.string().nullish(),
  textIs: z.enum(['driver', 'sdk', 'decoder']).optional(),
  cloudError: z.looseObject({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
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

export const recording = z.looseObject({
  format: z.literal(1),
  bodies: z.record(z.string(), z.string()).optional(),
  cases: z.array(methodCase),
});
export type Recording = z.infer<typeof recording>;

/** The recordings of a cloud: `golden/drivers/<cloud>/*.json` below `dir`, or below it without `golden/`. */
export async function readRecordings(dir: string, cloud: string): Promise<readonly Recording[]> {
  const candidates = [join(dir, 'golden', 'drivers', cloud), join(dir, 'drivers', cloud), join(dir, cloud)];
  for (const folder of candidates) {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) continue;
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
    return Promise.all(files.map(async (name) => read(join(folder, name))));
  }
  throw new Error(`${dir} has no folder golden/drivers/${cloud}/: --from names the folder that holds it`);
}

async function read(path: string): Promise<Recording> {
  const parsed = recording.safeParse(JSON.parse(await readFile(path, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(`${path} is no recording of format 1: ${z.prettifyError(parsed.error)}`);
}

/** The calls of a case, each with what it was told. */
export const callsOf = (recorded: RecordedCase): readonly RecordedStep[] => {
  if (recorded.steps) return recorded.steps;
  const { method, requests = [], result: outcome, metrics, machine } = recorded;
  if (!method || !outcome) throw new Error(`case ${recorded.name} has neither steps nor method and result`);
  const { providerID } = machine ?? {};
  return [
    {
      method,
      requests,
      result: outcome,
      ...(metrics ? { metrics } : {}),
      ...(providerID === undefined ? {} : { providerID }),
    },
  ];
};

/** A class holds a JSON object; other bytes never reach a driver: the API server refuses them. */
export function isStorable(raw: string): boolean {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && !Array.isArray(value);
  } catch {
    return false;
  }
}
