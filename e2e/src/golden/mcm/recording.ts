import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '@mcm/kube';
import { z } from 'zod';
import type { Outcome } from '../common/set.ts';

const byProgram = z.record(z.string(), z.record(z.string(), z.unknown()));

/**
 * Compares each entry of a file about the original: for each program, the entries by name. Recordings without the folder
 * `golden/mcm` or `mcm` have no entries.
 * @param compare returns the result of the comparison, or throws an Error
 */
export async function* eachEntry<T>(
  dir: string,
  file: string,
  schema: z.ZodType<T>,
  compare: (program: string, name: string, entry: T) => Promise<Omit<Outcome, 'name'>>,
): AsyncIterable<Outcome> {
  const path = await pathOf(dir, file);
  if (path === undefined) return;
  let programs: z.infer<typeof byProgram>;
  try {
    programs = byProgram.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    yield { name: file, failure: `${path} is not a recording: ${errorText(error)}` };
    return;
  }
  for (const [program, entries] of Object.entries(programs))
    for (const [name, given] of Object.entries(entries)) {
      const parsed = schema.safeParse(given);
      const outcome = parsed.success
        ? await compare(program, name, parsed.data).catch((error: unknown) => ({ failure: errorText(error) }))
        : { failure: `is not an entry: ${z.prettifyError(parsed.error)}` };
      yield { name: `${program} ${name}`, ...outcome };
    }
}

async function pathOf(dir: string, file: string): Promise<string | undefined> {
  for (const folder of [join(dir, 'golden', 'mcm'), join(dir, 'mcm')])
    if ((await stat(folder).catch(() => undefined))?.isDirectory()) return join(folder, file);
  return undefined;
}
