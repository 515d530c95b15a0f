import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { sharedBundle } from '@mcm/tools/bundles';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, hasKubectl, startCluster } from './cluster.ts';

describe.skipIf(!hasKubectl)('kubectl mcm', () => {
  let cluster: Cluster;
  let env: Record<string, string>;
  beforeAll(async () => {
    cluster = await startCluster();
    const bin = join(cluster.dir, 'bin');
    mkdirSync(bin);
    const program = await sharedBundle('mcm');
    writeFileSync(join(bin, 'kubectl-mcm'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
    chmodSync(join(bin, 'kubectl-mcm'), 0o755);
    env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
    await cluster.run('create -f -', {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'MachineDeployment',
      metadata: { name: 'workers', namespace: 'default' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { pool: 'workers' } },
        template: { metadata: { labels: { pool: 'workers' } }, spec: { class: { kind: 'MachineClass', name: 'c' } } },
      },
    });
  });
  afterAll(() => cluster.stop());

  test('kubectl finds the plugin mcm, and lists its commands', async () => {
    expect((await cluster.kubectl(['plugin', 'list'], { env })).stdout).toContain('kubectl-mcm');
    const { code, stdout } = await cluster.kubectl(['mcm', '--help'], { env });
    expect(code).toBe(0);
    for (const command of ['tree', 'explain', 'rollout', 'drain', 'events']) expect(stdout).toContain(command);
  });

  test('works on the cluster of $KUBECONFIG, in the namespace of -n', async () => {
    const { code, stdout, stderr } = await cluster.kubectl(['mcm', 'tree', '-n', 'default', '-o', 'json'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('"workers"');
    const context = (await cluster.kubectl(['config', 'current-context'], { env })).stdout.trim();
    const named = await cluster.kubectl(['mcm', 'tree', '--context', context, '-o', 'json'], { env });
    expect(named.stdout).toBe(stdout);
    const other = await cluster.kubectl(['mcm', 'tree', '-n', 'elsewhere', '-o', 'json'], { env });
    expect(other.stdout).not.toContain('workers');
  });

  test('kubectl itself completes the commands of mcm with the executable that mcm prints', async () => {
    const { stdout: script } = await cluster.kubectl(['mcm', 'completion', 'kubectl'], { env });
    const path = join(cluster.dir, 'bin/kubectl_complete-mcm');
    writeFileSync(path, `${script}\n`);
    chmodSync(path, 0o755);
    const completed = async (...words: string[]): Promise<string[]> =>
      (await cluster.kubectl(['__complete', 'mcm', ...words], { env })).stdout.split('\n');
    expect(await completed('ro')).toEqual(['rollout', ':4']);
    expect(await completed('rollout', 'status', 'workers', '--no')).toEqual(['--no-watch', ':4']);
  });

  test('kubectl mcm returns the exit status of mcm: 1 with one sentence for a missing object', async () => {
    const { code, stderr } = await cluster.kubectl(['mcm', 'rollout', 'pause', 'nothing', '-n', 'default'], { env });
    expect(code).toBe(1);
    expect(stderr.split('\n')[0]).toMatch(
      /^mcm: there is no machinedeployment nothing in namespace default; there are workers$/,
    );
  });
});
