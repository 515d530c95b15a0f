import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, onTestFinished, test } from 'vitest';
import { type McmRun, mcm, ROOT } from './harness/mcm.ts';

const program = await sharedBundle('mcm');

const PATIENCE_MS = 300_000;
const EXAMPLES = join(ROOT, 'packages/conformance/examples');

function authorsPackage() {
  const cwd = mkdtempSync(join(tmpdir(), 'mcm driver '));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const folder = join(cwd, 'slow');
  mkdirSync(join(folder, 'src'), { recursive: true });
  mkdirSync(join(folder, 'node_modules', '@mcm'), { recursive: true });
  for (const name of ['conformance', 'core', 'kube'])
    symlinkSync(join(ROOT, 'packages', name), join(folder, 'node_modules', '@mcm', name));
  symlinkSync(realpathSync(join(ROOT, 'packages/conformance/node_modules/zod')), join(folder, 'node_modules', 'zod'));
  writeFileSync(join(folder, 'package.json'), '{ "name": "slow", "type": "module" }');
  cpSync(join(EXAMPLES, 'slow-cloud.ts'), join(folder, 'src/slow-cloud.ts'));
  const driver = readFileSync(join(EXAMPLES, 'slow-driver.ts'), 'utf8');
  writeFileSync(join(folder, 'src/driver.ts'), driver.replace('openSlowCloud();', 'openSlowCloud(1, 2_000);'));
  const config = readFileSync(join(EXAMPLES, 'toy.yaml'), 'utf8').replaceAll('toy', 'slow');
  writeFileSync(join(folder, 'conformance.yaml'), config);
  return { cwd, folder };
}

test(
  'mcm up --provider FOLDER runs a third-party driver with the whole product',
  async () => {
    const { cwd, folder } = authorsPackage();
    const run = (...args: string[]) => mcm(args, { cwd, program }).ended;
    const up: McmRun = mcm(['up', '--provider', './slow', '--no-tty'], { cwd, program });
    onTestFinished(async () => {
      up.child.kill('SIGTERM');
      await up.ended;
    });
    await up.line(/^machine-controller-slow ready/);
    await up.line(/^ready: 3 machines Running/);
    const kubeconfig = await loadKubeconfig(join(cwd, '.mcm/kubeconfig'));
    const transport = undiciTransport(kubeconfig);
    const client = createClient({ transport, userAgent: 'test', clock: realClock });
    const listed = async (): Promise<number> =>
      (await run('cloud', 'list')).stdout.split('\n').filter((line) => line.startsWith('resource')).length;
    // Each machine has a server and a disk in the cloud.
    expect(await listed()).toBe(6);
    const nodes = await client.request<{ items: { spec: { providerID: string } }[] }>('GET', '/api/v1/nodes');
    expect(nodes.items.map(({ spec }) => spec.providerID)).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(/^slow:\/\/\/workers-/)),
    );
    await client
      .resource<MachineDeployment>(machineDeployments, 'default')
      .patch('workers', { type: 'merge', body: { spec: { replicas: 1 } } });
    await expect.poll(listed, { timeout: PATIENCE_MS, interval: 1_000 }).toBe(2);
    await transport.close();
    up.child.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ code: 0 });
    // The data directory records the driver, so `mcm up` with another provider fails.
    const other = await run('up', '--provider', 'aws');
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`contains machines of provider ${join(folder, 'src/driver.ts')}, not of aws`),
    });
  },
  PATIENCE_MS,
);

test.each([
  [
    'an unknown name',
    'hetzner',
    'must be local, aws, azure or gcp, or the file, folder or installed package of a driver',
  ],
  ['a folder without a driver', '.', 'contains none of the files src/driver.ts, dist/driver.js'],
  ['a module without createDriver', './slow/src/slow-cloud.ts', 'the export createDriver must be a function'],
])('%s is an error that names the fix', async (_, provider, message) => {
  const { cwd } = authorsPackage();
  const { code, stderr } = await mcm(['up', '--provider', provider, '--no-tty'], { cwd, program }).ended;
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(message)]);
});

test('a package whose dependencies are not installed is an error that names the command', async () => {
  const { cwd, folder } = authorsPackage();
  rmSync(join(folder, 'node_modules'), { recursive: true });
  const { code, stderr } = await mcm(['up', '--provider', './slow', '--no-tty'], { cwd, program }).ended;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/the package needs @mcm\/conformance .*run "npm install" in this folder/),
  ]);
});

test(
  'mcm up --provider FILE runs an example of the conformance package in the clone',
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'mcm-example-'));
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
    const driver = join(EXAMPLES, 'toy-driver.ts');
    const { code, stdout } = await mcm(['up', '--provider', driver, '--exit-when-ready'], { cwd, program }).ended;
    expect(code).toBe(0);
    expect(stdout).toContain('ready: 3 machines Running');
  },
  PATIENCE_MS,
);
