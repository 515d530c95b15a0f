import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyObjects, DEFAULT_INSTALL, installSections } from '@mcm/cli';
import { createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../docs/sources.ts';
import { type ApiServer, startApiServer } from '../harness/api-server.ts';

/**
 * Applies the objects of each installation method to an API server over HTTPS: the embedded control plane, or a
 * selected real API server.
 */

const isThere = (command: string): boolean => spawnSync(command, ['version'], { stdio: 'ignore' }).error === undefined;
const LIMIT = { timeout: 180_000 };

let server: ApiServer;
let dir: string;
let kubeconfig: string;
beforeAll(async () => {
  server = await startApiServer({ crds: [] });
  dir = mkdtempSync(join(tmpdir(), 'mcm installed '));
  kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 });
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Applies objects server-side with the real kubectl and the field manager of `mcm install`. */
const apply = (args: readonly string[], input = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const flags = ['--kubeconfig', kubeconfig, 'apply', '--server-side', '--field-manager=mcm-install', ...args];
    const child = execFile('kubectl', flags, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin?.end(input);
  });

/** All objects except the kinds of the Prometheus operator, which most clusters do not have. */
const objects = installSections(DEFAULT_INSTALL)
  .filter(({ name }) => name !== 'monitoring')
  .flatMap((section) => section.objects);

test('mcm install: the server accepts every object, and a second run changes nothing', LIMIT, async () => {
  const transport = undiciTransport(await loadKubeconfig(kubeconfig));
  const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
  const options = { force: false, signal: new AbortController().signal };
  try {
    const first = await applyObjects(client, objects, options);
    expect(first.length).toBe(objects.length);
    expect((await applyObjects(client, objects, options)).map(({ what }) => what)).toEqual(
      first.map(({ what }) => what),
    );
  } finally {
    await transport.close();
  }
});

test.skipIf(!isThere('kubectl'))('kustomize: kubectl applies the base and its components', LIMIT, async () => {
  expect(await apply(['-k', join(ROOT, 'deploy/kustomize/base')])).toMatch(/^deployment\S+ serverside-applied$/m);
  for (const name of ['policies', 'machine-config', 'machine-config-target', 'machine-config-daemon'])
    expect(await apply(['-f', join(ROOT, 'deploy/kustomize', name, `${name}.yaml`)])).toContain('serverside-applied');
});

test.skipIf(!isThere('kubectl') || !isThere('helm'))('Helm renders the chart', LIMIT, async () => {
  const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
  const rendered = execFileSync(
    'helm',
    ['template', 'mcm', chart, '--namespace', 'default', '--set', 'provider=local', '--kube-version', 'v1.36.0'],
    { encoding: 'utf8', maxBuffer: 1e8 },
  );
  expect(await apply(['-f', '-'], rendered)).toMatch(/^deployment\S+ serverside-applied$/m);
});
