import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Machine, machines } from '@mcm/api';
import { createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { isThorough, sampled } from '@mcm/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApiServer } from '../../harness/api-server.ts';
import { type McmRun, mcm } from '../../harness/mcm.ts';
import { ROOT, trackedFiles } from '../sources.ts';
import { type Block, blocksOf, commandLines } from './blocks.ts';
import { bundledPrograms, installPrograms, linesOf, pageScript, runScript } from './page-shell.ts';

/** Programs that pages use, but that are not installed on this computer. */
const missing = ['kubectl', 'jq', 'curl'].filter(
  (tool) => spawnSync(tool, ['--help'], { stdio: 'ignore' }).error !== undefined,
);

/** The README comes first, because its tour needs the fleet in the state after `start`. */
const pages = trackedFiles('*.md').filter((path) => !path.includes('/testdata/'));
/** Pages that only a thorough run tests. */
const LONGEST = [
  'README.md',
  'apps/mcm/README.md',
  'docs/cloud-rates.md',
  'docs/dashboard.md',
  'docs/drains.md',
  'docs/hooks.md',
  'docs/how-to.md',
  'docs/interruptions.md',
  'docs/journal.md',
  'docs/local.md',
  'docs/machine-config-walkthrough.md',
  'docs/migrate-from-go-mcm.md',
  'docs/preservation.md',
  'docs/reference/conditions.md',
  'docs/rollouts.md',
  'docs/runbooks/McmDeploymentUnavailable.md',
  'docs/runbooks/McmMachineFailed.md',
  'docs/runbooks/McmMachineTerminatingLong.md',
  'docs/runbooks/McmReplacementHeld.md',
  'docs/simulate.md',
  'docs/troubleshooting.md',
  'docs/warm-machines.md',
  'docs/zones.md',
];
const blocks = ['README.md', ...pages.filter((path) => path !== 'README.md')].flatMap((page) =>
  blocksOf(page, readFileSync(join(ROOT, page), 'utf8')),
);

const ours = (block: Block): boolean => block.run.by === 'us';
const needsMissing = ({ run }: Block): boolean =>
  run.by === 'us' &&
  commandLines(`${run.after.join('\n')}\n${run.script}`).some((line) =>
    line.split(/\W+/).some((word) => missing.includes(word)),
  );

/** Returns the blocks of each page that the test runs. */
function runnable(): readonly (readonly [page: string, blocks: readonly Block[]])[] {
  const run = blocks.filter((block) => ours(block) && (isThorough || !LONGEST.includes(block.page)));
  return [...Map.groupBy(run, ({ page }) => page)].map(([page, all]) => {
    const end = all.findIndex(needsMissing);
    return [page, end === -1 ? all : all.slice(0, end)] as const;
  });
}

describe('every shell block of the documentation', () => {
  test('every shell block of the documentation is run, or a comment contains the reason why not', () => {
    expect(blocks.length).toBeGreaterThan(50);
    expect(blocks.filter(ours).length).toBeGreaterThan(25);
    expect(blocks.filter((block) => ours(block) && block.page === 'README.md').length).toBeGreaterThanOrEqual(4);
  });

  test('refers to an existing test if another test runs it', () => {
    const named = blocks.flatMap(({ at, run }) => (run.by === 'test' ? [{ at, path: run.path }] : []));
    expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test.each([
    ['<!-- not run: later -->', /the note must be a sentence with the reason/],
    ['<!-- runs alone -->', /is not a valid note/],
    ['<!-- not run (mcm up): it is started elsewhere -->', /no line of the block starts with "mcm up"/],
  ])('a comment without a meaning is refused: %s', (comment, fault) => {
    expect(() => blocksOf('page.md', `${comment}\n\`\`\`sh\nmcm tree\n\`\`\`\n`)).toThrow(fault);
  });
});

const LIMIT = { timeout: 400_000 };

const parted = <T>(all: readonly T[], chosen: (one: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(chosen),
  all.filter((one) => !chosen(one)),
];

/** Pages whose commands start early, because they do not need the fleet or start their own. */
const APART = [
  'apps/machine-controller-manager/README.md',
  'docs/install.md',
  'docs/machine-config-walkthrough.md',
  'docs/tracing.md',
];

describe('the commands of the documentation work without changes', () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcm docs '));
  const cwd = join(dir, 'a folder');
  const closing: (() => Promise<void>)[] = [];
  const env: Record<string, string> = { NODE_COMPILE_CACHE: join(dir, 'compiled') };
  let bin: string;
  let up: McmRun;

  beforeAll(async () => {
    for (const folder of ['examples', 'deploy']) cpSync(join(ROOT, folder), join(cwd, folder), { recursive: true });
    const bundles = await bundledPrograms();
    bin = installPrograms(dir, bundles);
    up = mcm(['up', '--no-tty'], { cwd, env, program: bundles.mcm });
    for (const name of ['EMPTY', 'OTHER', 'CONTROL', 'TARGET', 'SPARE', 'MOVED']) {
      const plane = await startApiServer({ crds: ['ServiceMonitor', 'PrometheusRule'].map(monitoring) });
      env[name] = join(dir, `${name.toLowerCase()}.yaml`);
      writeFileSync(env[name], plane.kubeconfig(), { mode: 0o600 });
      closing.push(() => plane.close());
    }
    await up.line(/^ready: 3 machines Running/);
  }, 180_000);

  afterAll(async () => {
    up.child.kill('SIGINT');
    expect(await up.ended).toMatchObject({ code: 0 });
    for (const close of closing) await close();
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  const start = async (script: string): Promise<string> => {
    const KUBECONFIG = join(cwd, '.mcm/kubeconfig');
    const MACHINE = await aRunningMachine(KUBECONFIG);
    return runScript(script, { cwd, bin, env: { ...env, KUBECONFIG, MACHINE } });
  };
  const follow = (run: readonly Block[]): Promise<string> => start(pageScript(run));
  // The outputs of read-only commands, by command.
  const looks = new Map<string, Promise<string>>();
  const look = async (run: readonly Block[]): Promise<void> => {
    for (const line of linesOf(run)) {
      const seen = looks.get(line) ?? start(line);
      looks.set(line, seen);
      await seen;
    }
  };
  const [looking, others] = parted(
    runnable().filter(([, run]) => run.length > 0),
    ([page]) => page.startsWith('docs/runbooks/'),
  );
  const [apart, acting] = parted(others, ([page]) => APART.includes(page));
  const begun = new Map<string, Promise<string>>();
  beforeAll(() => {
    for (const [page, run] of apart) {
      const followed = follow(run);
      followed.catch(() => undefined);
      begun.set(page, followed);
    }
  });
  test.each(acting)('%s', LIMIT, async (_page, run) => void (await follow(run)));
  test.each(apart)('%s', LIMIT, async (page) => expect(await begun.get(page)).toBeDefined());
  // The runbooks contain the same kinds of commands, so a plain run tests every third runbook.
  test.concurrent.each(sampled(looking, 3))('%s', LIMIT, (_page, run) => look(run));

  const whole = new Map(blocks.filter(ours).map(({ page, at }) => [page, at]));
  const left = runnable().flatMap(([page, run]) => (run.at(-1)?.at === whole.get(page) ? [] : [page]));
  test.skipIf(left.length > 0)(
    `none is cut short for want of ${missing.join(' and ') || 'a tool'}: ${left.join(' ')}`,
    () => expect(left).toEqual([]),
  );
});

async function aRunningMachine(kubeconfig: string): Promise<string> {
  const transport = undiciTransport(await loadKubeconfig(kubeconfig));
  const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
  const { items } = await client.resource<Machine>(machines, 'default').list();
  await transport.close();
  const running = items.find(({ status }) => status?.currentStatus?.phase === 'Running');
  expect(running?.metadata.name).toBeDefined();
  return running?.metadata.name ?? '';
}

/** Returns a minimal CRD of the Prometheus operator, with which the API server accepts the operator's objects. */
const monitoring = (kind: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1' as const,
  kind: 'CustomResourceDefinition' as const,
  metadata: { name: `${kind.toLowerCase()}s.monitoring.coreos.com` },
  spec: {
    group: 'monitoring.coreos.com',
    scope: 'Namespaced' as const,
    names: { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' as const, 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});
