import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Step } from './requests/step.ts';

export interface Case {
  readonly name: string;
  readonly cleanup?: readonly string[];
  readonly broken?: string;
  readonly steps: readonly Step[];
}

export interface Fixture {
  readonly path: string;
  readonly body: { readonly metadata: { readonly name: string } };
  readonly ready: string;
}

/** A difference between responses: path, recorded value, value of the control plane. */
type Diff = readonly [path: string, expected: unknown, actual: unknown];

export interface Failure {
  /** The step number 0 is for the set-up of the case. */
  readonly step: number;
  readonly what: string;
  readonly diffs: readonly Diff[];
  readonly answer?: Answer;
}

interface Report {
  readonly results: readonly { readonly name: string; readonly failures?: readonly Failure[] }[];
}

/** The battery's runner sends requests, normalizes responses and compares them. */
export interface Runner {
  runBattery(options: Record<string, unknown>): Promise<Report>;
  handlerTransport(handler: (request: Request) => Promise<Response>, options: { token: string }): unknown;
  httpTransport(options: { server: string; insecure: boolean; token: string }): unknown;
  pretty(value: unknown): string;
}

const BATTERY = new URL('../../../packages/control-plane/testdata/battery/', import.meta.url);

export const loadRunner = async (): Promise<Runner> =>
  (await import(/* @vite-ignore */ new URL('replay.mjs', BATTERY).href)) as Runner;

/** Returns the custom resource kinds of the battery. */
export function batteryFixtures(): readonly Fixture[] {
  const file = readFileSync(new URL('cases/custom-resources.json', BATTERY), 'utf8');
  return (JSON.parse(file) as { readonly fixtures: readonly Fixture[] }).fixtures;
}

/** Cuts a case before the request that broke the connection to the server. */
function cutAt(whole: Case, failure: Failure | undefined): Case {
  if (failure === undefined) return whole;
  const steps = whole.steps.slice(0, Math.max(0, failure.step - 1));
  return { ...whole, steps, broken: String(failure.diffs[0]?.[2]) };
}

export interface Player {
  /** Sends the requests of the cases, and returns the cases with the responses of the server. */
  record(cases: readonly Case[]): Promise<readonly Case[]>;
  /** Sends the requests of recorded cases, and returns the differences by the name of the case. */
  compare(cases: readonly Case[]): Promise<ReadonlyMap<string, readonly Failure[]>>;
}

/**
 * Sends cases to a server through `transport`, with at most `jobs` parallel cases. The custom resource kinds of the
 * battery are installed once, and are not removed.
 */
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
      const cut = recorded.map((each) => cutAt(each, broken.get(each.name)));
      // Returns true if the connection broke before the server answered any request of a case.
      const isSilent = (each: Case): boolean => each.broken !== undefined && each.steps.length === 0;
      if (cut.length > 1 && cut.every(isSilent))
        throw new Error(`the server answers none of the cases: ${cut[0]?.broken}`);
      return cut;
    },
    compare: async (cases) => {
      const { results } = await run(cases, false);
      return new Map(
        results.map(({ name, failures = [] }) => [
          name,
          // A later step may need a value that the response of an earlier step lacks. A missing value is not counted as
          // a difference: the second server omits the value too, or an earlier difference explains the missing value.
          failures.filter(({ diffs }) => !diffs[0]?.[0].startsWith('capture ')),
        ]),
      );
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
