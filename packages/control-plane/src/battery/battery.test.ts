import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { controllerNames } from '../controllers/index.ts';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { isThorough } from '../thorough.testing.ts';

/** For each category, the number of cases that must pass. `pnpm battery` runs all categories. */
const FLOORS: Readonly<Record<string, number>> = {
  clients: 17,
  crud: 59,
  crds: 35,
  'custom-resources': 40,
  discovery: 53,
  fuzz: 303,
  http: 34,
  lists: 40,
  patches: 46,
  'scale-status': 8,
  status: 27,
  columns: 1,
  methods: 7,
  requests: 8,
  embedded: 5,
  times: 8,
  defaults: 3,
};

interface Report {
  readonly passed: number;
  readonly results: readonly { readonly name: string; readonly outcome: string }[];
}

interface Runner {
  runBattery(options: Record<string, unknown>): Promise<Report>;
  handlerTransport(handler: (request: Request) => Promise<Response>, options: { token: string }): unknown;
}

const isPassed = ({ outcome }: Report['results'][number]): boolean => outcome === 'passed';

const LARGEST = 'fuzz';

const folder = new URL('../../testdata/battery/', import.meta.url);
let plane: ControlPlane;
let runner: Runner;

beforeAll(async () => {
  runner = (await import(/* @vite-ignore */ new URL('replay.mjs', folder).href)) as Runner;
  plane = await startControlPlane({
    adminToken: 'battery',
    trustInProcess: false,
    controllers: controllerNames.filter((name) => name !== 'scheduler'),
  });
});

afterAll(() => plane.close());

test.each(Object.entries(FLOORS).filter(([category]) => isThorough || category !== LARGEST))(
  '%s: at least %i recorded cases are answered as recorded',
  async (category, floor) => {
    const file = fileURLToPath(new URL(`cases/${category}.json`, folder));
    const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: unknown[] };
    const transport = runner.handlerTransport((request) => plane.fetch(request), { token: plane.adminToken });
    const play = () => runner.runBattery({ transport, files: [file], log: () => undefined });
    const report = await play();
    expect(report.results).toHaveLength(cases.length);
    // The recorded times have whole seconds, so a case can fail when a second ends. The test then repeats the cases.
    const again = report.passed < floor ? await play() : report;
    const passed = new Set([...report.results, ...again.results].filter(isPassed).map(({ name }) => name));
    const failed = report.results.filter(({ name, outcome }) => outcome === 'failed' && !passed.has(name));
    expect(passed.size, `failed: ${failed.map(({ name }) => name).join('; ')}`).toBeGreaterThanOrEqual(floor);
  },
);
