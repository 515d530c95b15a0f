import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { PROFILES, type ProfileName } from '../network/profiles.ts';
import { type Case, SUITES } from '../suites/suites.ts';

const plan = z.strictObject({
  steps: z.array(z.strictObject({ act: z.string(), pauseMs: z.number().min(0), drawn: z.int().min(0) })),
  lastPauseMs: z.number().min(0),
  drawn: z.int().min(0),
});

const file = z.strictObject({
  suite: z.enum([...SUITES.keys()]),
  seed: z.int(),
  profile: z.enum(Object.keys(PROFILES) as ProfileName[]).optional(),
  plan: plan.optional(),
  violations: z.array(z.string()).default([]),
});

export interface Failure {
  readonly one: Case;
  readonly violations: readonly string[];
}

/** Writes a file with which a failure can be repeated, and returns its path. */
export function writeReplay(folder: string, { one, violations }: Failure): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${one.suite}-${one.seed}-${one.profile ?? 'none'}.json`);
  writeFileSync(path, `${JSON.stringify({ ...one, violations }, null, 2)}\n`);
  return path;
}

export function readReplay(path: string): Failure {
  const parsed = file.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path} is not a replay file: ${z.prettifyError(parsed.error)}`);
  const { violations, ...one } = parsed.data;
  return { one, violations };
}
