import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { controllerNames } from '../controllers/index.ts';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { isThorough } from '../thorough.testing.ts';

/**
 * The minimum number of passing cases in each category. Slow categories are not included: `pnpm battery` runs the
 * categories that wait for controllers, token caches or timeouts.
 */
const FLOORS: Readonly<Record<string, number>> = {
  clients: 17,
  crud: 59,
  crds: 35,
  'custom-resources': 40,
  discovery: 53,
  fuzz: 249,
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

/** The largest category, with half of all cases. */
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
    const report = await runner.runBattery({ transport, files: [file], log: () => undefined });
    const failed = report.results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
    expect(report.results).toHaveLength(cases.length);
    expect(report.passed, `failed: ${failed.join('; ')}`).toBeGreaterThanOrEqual(floor);
  },
);
