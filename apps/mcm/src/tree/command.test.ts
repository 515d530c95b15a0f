import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, namespaces, realClock, seededRandom } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { createProgram } from '../program.ts';

test('mcm tree --fleet -w prints the clusters until the end, and refuses a name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-tree-'));
  const plane = await startControlPlane({ port: 0, clock: realClock, crds, controllers: false });
  onTestFinished(async () => {
    await plane.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  await client.resource(namespaces).create({ metadata: { name: 'shoot--a', labels: { 'mcm-fleet': 'aws' } } });
  await client
    .resource(machines, 'shoot--a')
    .create({ metadata: { name: 'm-1' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
  const end = new AbortController();
  const said: string[] = [];
  const run = (...words: readonly string[]): Promise<unknown> =>
    createProgram({
      say: (line) => {
        said.push(line);
        if (line.includes('m-1')) end.abort(new Error('enough'));
      },
      random: seededRandom(1),
      signal: () => end.signal,
      stdout: process.stdout,
    })
      .exitOverride()
      .parseAsync(['node', 'mcm', 'tree', '--kubeconfig', kubeconfig, ...words]);
  await expect(run('--fleet', '-w')).rejects.toThrow('enough');
  expect(said.join('\n')).toMatch(/cluster\/shoot--a .*no process holds the Lease[\s\S]*machine\/m-1/);
  await expect(run('web', '--fleet')).rejects.toThrow('--fleet can be used only with --all, -n, -o, -w and');
});
