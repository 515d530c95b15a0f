import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machineDeployments, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, realClock, seededRandom } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { withoutDurations } from '../cluster/follow.ts';
import { createProgram } from '../program.ts';
import { explainedBy } from './command.ts';

const labels = { app: 'web' };
const spec = { class: { kind: 'MachineClass', name: 'small' } };

/** Returns a function that runs a command in a cluster with two MachineDeployments and a machine. */
async function clusterWithTwo() {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-explain-'));
  const plane = await startControlPlane({ crds, controllers: false, port: 0 });
  onTestFinished(async () => {
    await plane.close();
    rmSync(folder, { recursive: true });
  });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  for (const name of ['a', 'b'])
    await client.resource(machineDeployments, 'default').create({
      metadata: { name, namespace: 'default', labels: { ...labels, name } },
      spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    } as never);
  await client
    .resource(machines, 'default')
    .create({ metadata: { name: 'm', namespace: 'default', labels, finalizers: ['example.com/keep'] }, spec } as never);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig());
  const mcm = async (...words: readonly string[]): Promise<string> => {
    const said: string[] = [];
    const program = createProgram({
      say: (line) => said.push(line),
      random: seededRandom(1),
      signal: () => new AbortController().signal,
      stdout: process.stdout,
    });
    await program.parseAsync(['node', 'mcm', ...words, '--kubeconfig', kubeconfig]);
    return said.join('\n');
  };
  return Object.assign(mcm, { deleteMachine: () => client.resource(machines, 'default').delete('m') });
}

test('with a selector, explain explains each object with the labels', async () => {
  const mcm = await clusterWithTwo();
  const both = await mcm('explain', '-l', 'app=web');
  expect(both).toMatch(/^machinedeployment a$[\s\S]*\n\nmachinedeployment b$/m);
  expect(await mcm('explain', 'mcd', '-l', 'name!=a')).toMatch(/^machinedeployment b$/m);
  expect(await mcm('explain', 'machines', '-l', 'app')).toMatch(/^machine m$/m);
  const { items } = JSON.parse(await mcm('explain', '-l', 'app=web', '-o', 'json'));
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['a', 'b']);
  expect(JSON.parse(await mcm('explain', 'machinedeployment/a', '-o', 'json')).name).toBe('a');
  await expect(mcm('explain', '-l', 'app=db')).rejects.toThrow(
    'no machinedeployment in namespace default has the labels app=db',
  );
  await expect(mcm('explain', '-l', 'a in')).rejects.toThrow(/^the label selector is invalid: unable to parse/);
});

test('drain shows the drain of a machine in deletion, and needs --preview for another machine', async () => {
  const mcm = await clusterWithTwo();
  await expect(mcm('drain', 'm')).rejects.toThrow(
    'machine m is not in deletion; add --preview to show the drain in advance, or delete the machine',
  );
  const none = 'machine m has no node, so mcm deletes the machine without a drain';
  expect(await mcm('drain', 'm', '--preview')).toMatch(new RegExp(`^${none}`));
  await mcm.deleteMachine();
  const running = await mcm('drain', 'm');
  expect(running).toMatch(/^machine m \(Terminating\): .*the deletion is requested/);
  expect(running).toContain(`\n\n${none}`);
  expect(await mcm('drain', 'machine/m', '--preview')).toBe(running);
  expect(JSON.parse(await mcm('drain', 'm', '-o', 'json'))).toMatchObject({
    inDeletion: true,
    waitsFor: { phase: 'Terminating' },
  });
});

test('explain needs a name or a selector, and refuses both', () => {
  expect(explainedBy(['machine', 'm'], undefined)).toEqual({ text: 'machine/m' });
  expect(explainedBy([], 'a=b')).toEqual({ kind: 'MachineDeployment', selector: 'a=b' });
  expect(() => explainedBy([], undefined)).toThrow('no object is given');
  expect(() => explainedBy(['machine/m'], 'a=b')).toThrow('cannot be used together');
  expect(() => explainedBy(['nodes'], 'a=b')).toThrow('write machinedeployments or machines');
});

test('for --watch, only the time in a text is no change', () => {
  const at = (text: string) => withoutDurations({ next: text });
  expect(at('no answer for 1m30s, since 12:00')).toBe(at('no answer for 2m, since 12:00'));
  expect(at('waits for 1 machine')).not.toBe(at('waits for 2 machines'));
});
