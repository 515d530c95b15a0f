import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, type KubeObject, type OwnerReference } from '@mcm/kube';
import { z } from 'zod';

const owner = z.looseObject({ kind: z.string(), name: z.string(), uid: z.string() });
const time = z.string().refine((text) => text === '' || !Number.isNaN(Date.parse(text)), 'is not a time');
const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().min(1),
  resourceVersion: z.string().default(''),
  creationTimestamp: time.default(''),
  deletionTimestamp: time.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z
    .array(z.custom<OwnerReference>((value) => owner.safeParse(value).success, 'is not an owner reference'))
    .optional(),
});
const object = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata });
/** A longer recording would take too long to replay. */
const LONGEST_S = 86_400;

const recording = z.object({
  scenario: z.string(),
  states: z
    .array(
      z.object({
        at: z.number().min(0).max(LONGEST_S),
        after: z.string(),
        changed: z.array(object),
        gone: z.array(z.string()),
      }),
    )
    .min(1)
    .refine((states) => states.every(({ at }, index) => at >= (states[index - 1]?.at ?? 0)), 'the times must increase'),
});

export type Recorded = KubeObject & { readonly [field: string]: unknown };

export interface State {
  readonly at: number;
  readonly after: string;
  readonly objects: ReadonlyMap<string, Recorded>;
  readonly events: readonly Recorded[];
}

export interface History {
  readonly file: string;
  readonly states: readonly State[];
  readonly namespace: string;
}

export interface Section {
  readonly after: string;
  readonly first: number;
  readonly last: number;
}

const keyOf = ({ kind, metadata: { name } }: KubeObject): string => `${kind}/${name}`;

/** A history, or the reason why its file cannot be read. */
export type ReadHistory = History | { readonly file: string; readonly problem: string };

/** Reads all recordings in a folder. */
export async function readFolder(dir: string): Promise<readonly ReadHistory[]> {
  const files = (await readdir(dir)).filter((name) => name.endsWith('.json')).sort();
  if (files.length === 0) throw new Error(`${dir} contains no recording (*.json)`);
  return Promise.all(
    files.map(async (file): Promise<ReadHistory> => {
      try {
        return parseHistory(file, await readFile(join(dir, file), 'utf8'));
      } catch (error) {
        return { file, problem: errorText(error) };
      }
    }),
  );
}

/**
 * Reads all recordings in a folder.
 * @throws Error with the reason if a recording is invalid
 */
export async function readHistories(dir: string): Promise<readonly History[]> {
  return (await readFolder(dir)).map((read) => {
    if ('problem' in read) throw new Error(read.problem);
    return read;
  });
}

/** @throws Error with the file and the reason if the recording is invalid */
export function parseHistory(file: string, text: string): History {
  const parsed = recording.safeParse(parseJson(file, text));
  if (!parsed.success) throw new Error(`${file} is not a recording of a take-over: ${z.prettifyError(parsed.error)}`);
  const objects = new Map<string, Recorded>();
  const events = new Map<string, Recorded>();
  const states = parsed.data.states.map(({ at, after, changed, gone }): State => {
    for (const key of gone) objects.delete(key);
    for (const one of changed as Recorded[]) (one.kind === 'Event' ? events : objects).set(keyOf(one), one);
    return { at, after, objects: new Map(objects), events: [...events.values()] };
  });
  return { file, states, namespace: namespaceOf(file, states) };
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON`, { cause: error });
  }
}

function namespaceOf(file: string, states: readonly State[]): string {
  const ours = states
    .flatMap(({ objects }) => [...objects.values()])
    .filter(({ apiVersion, metadata: { namespace } }) => apiVersion?.startsWith('machine.sapcloud.io/') && namespace);
  const [first, ...others] = new Set(ours.map(({ metadata }) => metadata.namespace ?? ''));
  if (!first) throw new Error(`${file} contains no object of machine.sapcloud.io in a namespace`);
  if (others.length > 0) throw new Error(`${file} has machines in more than one namespace: ${[first, ...others]}`);
  return first;
}

export function sectionsOf(states: readonly State[]): readonly Section[] {
  const sections: Section[] = [];
  for (const [index, { after }] of states.entries()) {
    const last = sections.at(-1);
    if (last?.after === after) sections[sections.length - 1] = { ...last, last: index };
    else sections.push({ after, first: index, last: index });
  }
  return sections;
}
