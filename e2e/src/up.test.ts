import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Machine, machines } from '@mcm/api';
import { createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { sharedBundle } from '@mcm/tools/bundles';
import { afterAll, describe, expect, test } from 'vitest';
import { type McmRun, mcm } from './harness/mcm.ts';

const program = await sharedBundle('mcm');

const PATIENCE_MS = 180_000;

type Recorded = Record<string, Record<string, { readonly type: string }>>;
const recorded: Recorded = JSON.parse(readFileSync(new URL('../testdata/mcm/metrics.json', import.meta.url), 'utf8'));
const LOGS = {
  'machine-controller-manager': 'machine-controller-manager.log',
  'machine-controller': 'machine-controller-local.log',
};

/** Resolves with the names and types of the metrics that the original has and the running binaries lack. */
async function missingMetrics(logs: string): Promise<string[]> {
  const missing: string[] = [];
  for (const [binary, log] of Object.entries(LOGS)) {
    const started = [...readFileSync(join(logs, log), 'utf8').matchAll(/ready (http:\S+)/g)];
    const address = started.at(-1)?.[1];
    const text = await (await fetch(`${address}/metrics`)).text();
    const shown = new Set([...text.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, name]) => name));
    for (const [name, { type }] of Object.entries(recorded[binary] ?? {})) {
      if (!/^(go|process|promhttp)_/.test(name) && !shown.has(`${name} ${type}`))
        missing.push(`${binary}: ${name} ${type}`);
    }
  }
  return missing;
}

async function fleetOf(dataDir: string): Promise<Record<string, string>> {
  const transport = undiciTransport(await loadKubeconfig(join(dataDir, 'kubeconfig')));
  const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
  const list = await client.resource<Machine>(machines, 'default').list();
  await transport.close();
  return Object.fromEntries(
    list.items.map((machine) => [machine.metadata.name, `${machine.metadata.uid} ${machine.spec.providerID}`]),
  );
}

describe('mcm up', () => {
  const used = mkdtempSync(join(tmpdir(), 'mcm e2e '));
  afterAll(() => rmSync(used, { recursive: true, force: true }));
  let fleet: Record<string, string> = {};
  let second: McmRun;

  test('mcm up starts three machines and ends, and a later start continues with the same fleet', {
    timeout: PATIENCE_MS,
  }, async () => {
    // In `.ci/run`, the first start uses the source files, like `pnpm start`.
    const options = { cwd: used, program: isThorough ? undefined : program };
    const first = await mcm(['up', '--exit-when-ready', '--no-tty'], options).ended;
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain('ready: 3 machines Running');

    second = mcm(['up', '--no-tty'], { cwd: used, program });
    await second.line(/^ready: 3 machines Running/);
    fleet = await fleetOf(join(used, '.mcm'));
    // The fleet already exists, so the programs report all metrics soon after their start.
    await expect.poll(() => missingMetrics(join(used, '.mcm', 'logs')), { timeout: PATIENCE_MS }).toEqual([]);
    expect(Object.keys(fleet)).toHaveLength(3);
  });

  test.runIf(isThorough)(
    'after SIGKILL, the next start continues with the same fleet',
    {
      timeout: PATIENCE_MS,
    },
    async () => {
      second.child.kill('SIGKILL');
      await second.ended;
      second = mcm(['up', '--no-tty'], { cwd: used, program });
      await second.line(/^control-plane ready/);
    },
  );

  test('a second instance on the same directory is refused and the first continues with the same fleet', {
    timeout: PATIENCE_MS,
  }, async () => {
    const refused = await mcm(['up', '--no-tty'], { cwd: used, program }).ended;
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^mcm: another mcm \(process \d+\) uses .*: stop that mcm with "mcm down", or use another --data-dir\n$/,
    );
    await second.line(/^ready: 3 machines Running/);
    expect(await fleetOf(join(used, '.mcm'))).toEqual(fleet);
    expect((await mcm(['status'], { cwd: used, program }).ended).stdout).toContain('machines: 3 Running');
    expect(await mcm(['down'], { cwd: used, program }).ended).toMatchObject({ code: 0, stdout: 'stopped\n' });
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(await mcm(['status'], { cwd: used, program }).ended).toMatchObject({ code: 3, stdout: 'not running\n' });
  });

  test('a corrupt store is refused and not changed', { timeout: PATIENCE_MS }, async () => {
    const store = join(used, '.mcm', 'control-plane', 'store.sqlite');
    expect(existsSync(store)).toBe(true);
    const rubbish = 'this is not a database '.repeat(1_000);
    writeFileSync(store, rubbish);
    for (const suffix of ['-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
    const run = await mcm(['up', '--no-tty'], { cwd: used, program }).ended;
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^mcm: control-plane: .*store\.sqlite.*\n$/);
    expect(readFileSync(store, 'utf8')).toBe(rubbish);
  });
});
