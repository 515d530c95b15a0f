import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Step } from './requests/step.ts';

export interface Case {
  readonly name: string;
  readonly cleanup?: readonly string[];
  /** Why the recording ended before its time. */
  readonly broken?: string;
  readonly steps: readonly Step[];
}

export interface Fixture {
  readonly path: string;
  readonly body: { readonly metadata: { readonly name: string } };
  readonly ready: string;
}

/** Where an answer differs: path, recorded value, value of the plane. */
type Diff = readonly [path: string, expected: unknown, actual: unknown];

export interface Failure {
  /** Counted from 1; 0 for the set-up of a case. */
  readonly step: number;
  readonly what: string;
  readonly diffs: readonly Diff[];
  readonly answer?: Answer;
}

interface Report {
  readonly results: readonly { readonly name: string; readonly failures?: readonly Failure[] }[];
}

/** The functions of the runner of the battery (`replay.mjs`) that the fuzzer uses: send, normalize, compare. */
export interface Runner {
  runBattery(options: Record<string, unknown>): Promise<Report>;
  handlerTransport(handler: (request: Request) => Promise<Response>, options: { token: string }): unknown;
  httpTransport(options: { server: string; insecure: boolean; token: string }): unknown;
  pretty(value: unknown): string;
}

const BATTERY = new URL('../../../packages/control-plane/testdata/battery/', import.meta.url);

export const loadRunner = async (): Promise<Runner> =>
  (await import(/* @vite-ignore */ new URL('replay.mjs', BATTERY).href)) as Runner;

/** The custom kinds of the battery. */
export function batteryFixtures(): readonly Fixture[] {
  const file = readFileSync(new URL('cases/custom-resources.json', BATTERY), 'utf8');
  return (JSON.parse(file) as { readonly fixtures: readonly Fixture[] }).fixtures;
}

/** Ends a case before the request that broke the connection: a server that panics gives no answer. @throws Error when it was the first */
function cutAt(whole: Case, failure: Failure | undefined): Case {
  if (failure === undefined) return whole;
  const why = String(failure.diffs[0]?.[2]);
  const steps = whole.steps.slice(0, Math.max(0, failure.step - 1));
  if (steps.length === 0) throw new Error(`${whole.name}: the server did not answer the first request: ${why}`);
  return { ...whole, steps, broken: why };
}

/** A server that plays cases. */
export interface Player {
  /** Sends the requests of the cases and returns the cases with their answers. */
  record(cases: readonly Case[]): Promise<readonly Case[]>;
  /** Sends the requests of recorded cases and returns what differs, by the name of the case. */
  compare(cases: readonly Case[]): Promise<ReadonlyMap<string, readonly Failure[]>>;
}

/** Plays cases through `transport`, `jobs` at once. Fixtures are installed once and stay. */
export function createPlayer(
  runner: Runner,
  transport: unknown,
  fixtures: readonly Fixture[],
  jobs: number,
): Player & { close(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-fuzz-'));
  const file = join(folder, 'cases.json');
  const installed = new Map<string, string>();
  const run = (cases: readonly Case[], record: boolean): Promise<Report> => {
    writeFileSync(file, JSON.stringify({ category: 'fuzz', fixtures, cases }));
    return runner.runBattery({ transport, files: [file], record, jobs, installed, keep: true, log: () => undefined });
  };
  return {
    record: async (cases) => {
      const { results } = await run(cases, true);
      const broken = new Map(
        results.flatMap(({ name, failures = [] }) => {
          const failure = failures.find(({ what }) => what === 'runner');
          return failure === undefined ? [] : [[name, failure] as const];
        }),
      );
      const recorded = (JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Case[] }).cases;
      return recorded.map((each) => cutAt(each, broken.get(each.name)));
    },
    compare: async (cases) => {
      const { results } = await run(cases, false);
      return new Map(
        results.map(({ name, failures = [] }) => [
          name,
          // A value to keep that an answer lacks is missing on both sides, or the answer differs as well.
          failures.filter(({ diffs }) => !diffs[0]?.[0].startsWith('capture ')),
        ]),
      );
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
