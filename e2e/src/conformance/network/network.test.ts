import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conformanceCommand, SCENARIOS } from '@mcm/conformance';
import { realClock, undiciTransport } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { afterEach, expect, test } from 'vitest';
import { CLOUDS, type Loopback } from './loopback.ts';
import { quickClock } from './quick-clock.ts';

/** Runs `mcm-conformance` like the CI of a provider. */

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const { MCM_CONFORMANCE_REPORTS: reports } = process.env;

let cloud: Loopback | undefined;
const before = { ...process.env };
afterEach(async () => {
  for (const name of Object.keys(cloud?.variables ?? {})) delete process.env[name];
  Object.assign(process.env, before);
  await cloud?.close();
});

test.each(sampled(['aws', 'azure', 'gcp', 'local'] as const, 3, 3))(
  'the command verifies the %s driver over sockets',
  async (provider) => {
    const opened = await CLOUDS[provider]();
    cloud = opened;
    Object.assign(process.env, opened.variables);
    const { ca, variables } = opened;
    const { clock, watch } = quickClock();
    let out = '';
    const files = new Map<string, string>();
    const code = await conformanceCommand(
      [
        ...['--driver', here(`./${provider}-driver.ts`), '--junit', 'report.xml'],
        ...['--config', here(`../../../testdata/conformance/${provider}.yaml`)],
      ],
      {
        clock,
        stopwatch: realClock,
        connect: watch((server) => undiciTransport({ server, connections: 64, ...(ca === undefined ? {} : { ca }) })),
        readFile: (path) => readFile(path, 'utf8'),
        writeFile: async (path, text) => void files.set(path, text),
        variables,
        write: (text) => {
          out += text;
        },
      },
    );
    if (reports !== undefined) {
      await mkdir(reports, { recursive: true });
      await writeFile(join(reports, `${provider}.txt`), out);
      await writeFile(join(reports, `${provider}.xml`), files.get('report.xml') ?? '');
    }
    expect(out).not.toContain('FAIL');
    expect(code).toBe(0);
    const skipped = [...out.matchAll(/^SKIP {2}(.*)$/gm)].map(([, name]) => name ?? '');
    const never = ['interruption', 'interruption: wait'];
    expect(skipped).toEqual(provider === 'aws' ? never : ['initialize', ...never]);
    const passed = SCENARIOS.length - skipped.length;
    expect(out).toContain(`${passed} passed, 0 failed, ${skipped.length} skipped`);
    expect(files.get('report.xml')).toContain(`tests="${SCENARIOS.length}" failures="0" skipped="${skipped.length}"`);
    expect(await opened.left()).toEqual([]);
  },
  240_000,
);
