import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorText } from '@mcm/kube';
import { z } from 'zod';

const recordedCase = z.object({
  id: z.string(),
  fn: z.string(),
  title: z.string(),
  tags: z.array(z.string()),
  input: z.record(z.string(), z.unknown()),
  output: z.record(z.string(), z.unknown()),
});

export type RecordedCase = z.infer<typeof recordedCase>;

const recording = z.object({ format: z.literal(1), set: z.string(), source: z.string(), cases: z.array(z.unknown()) });

/** A case, or the reason why a file has no readable case. */
export type RawCase =
  | { readonly place: string; readonly raw: unknown }
  | { readonly place: string; readonly problem: string };

/** @returns the case, or a text that says why the recording is invalid */
export function parseCase(read: RawCase): RecordedCase | string {
  if ('problem' in read) return read.problem;
  const parsed = recordedCase.safeParse(read.raw);
  return parsed.success ? parsed.data : `is not a recorded case: ${z.prettifyError(parsed.error)}`;
}

/** Reads the recordings from `golden/machine-config/*.json` or `machine-config/*.json` in `dir`. */
export async function readRecordings(dir: string): Promise<readonly RawCase[]> {
  for (const folder of [join(dir, 'golden', 'machine-config'), join(dir, 'machine-config')]) {
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) continue;
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
    return (await Promise.all(files.map((name) => read(join(folder, name))))).flat();
  }
  throw new Error(`${dir} has no folder golden/machine-config/: --from must name its parent folder`);
}

async function read(path: string): Promise<readonly RawCase[]> {
  try {
    const parsed = recording.safeParse(JSON.parse(await readFile(path, 'utf8')));
    if (parsed.success)
      return parsed.data.cases.map((raw, index) => ({ place: `${basename(path)} case ${index}`, raw }));
    return [{ place: path, problem: `is not a recording of format 1: ${z.prettifyError(parsed.error)}` }];
  } catch (error) {
    return [{ place: path, problem: `cannot be read: ${errorText(error)}` }];
  }
}
