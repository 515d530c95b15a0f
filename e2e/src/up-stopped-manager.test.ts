import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { createClient, leases, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, onTestFinished, test } from 'vitest';
import { mcm } from './harness/mcm.ts';

const program = await sharedBundle('mcm');
const NAME = 'machine-controller-manager';

/** Returns the process ID of the manager of a running `mcm up`. */
function managerOf(supervisor: number): number {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const [, pid] =
    lines
      .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
      .find(
        ([, , parent, args = '']) => Number(parent) === supervisor && /machine-controller-manager\/\S+\.js/.test(args),
      ) ?? [];
  return Number(pid);
}

test('a stopped manager of mcm up is reported by all commands, and its next step is not announced', {
  timeout: 240_000,
}, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'mcm stopped '));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const up = mcm(['up', '--no-tty'], { cwd, program });
  await up.line(/^ready: 3 machines Running/);
  const manager = managerOf(up.child.pid ?? 0);
  process.kill(manager, 'SIGSTOP');
  onTestFinished(async () => {
    up.child.kill('SIGINT');
    await up.ended;
  });
  const transport = undiciTransport(await loadKubeconfig(join(cwd, '.mcm', 'kubeconfig')));
  const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
  await client
    .resource<MachineDeployment>(machineDeployments, 'default')
    .patch('workers', { type: 'merge', body: { spec: { replicas: 5 } } });
  await client.resource(leases, 'default').patch(NAME, { type: 'merge', body: { spec: { leaseDurationSeconds: 1 } } });
  await transport.close();
  await up.line(/^machine-controller-manager is not working since /);

  const reported = async (...args: string[]): Promise<string> => (await mcm(args, { cwd, program }).ended).stdout;
  const explained = await reported('explain', 'machinedeployment', 'workers');
  expect(explained).toContain(`  next   no step, because ${NAME} is not working\n`);
  expect(explained).not.toContain('goes from 3 to 5 machines');
  const reports = [
    explained,
    await reported('tree'),
    await reported('status'),
    await reported('rollout', 'status', 'workers', '--no-watch'),
  ];
  for (const report of reports)
    expect(report).toMatch(/machine-controller-manager is not working since 20\d\d-.*Z \(\d+s\)/);
  expect(explained).toContain('mcm replaces no failed or deleted machine');

  process.kill(manager, 'SIGCONT');
  await up.line(/^controller machine-controller-manager is working again/);
  // The first renewal after the stop can contain a time from before the stop.
  await expect.poll(() => reported('tree')).not.toContain('is not working');
});
