import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';
import { mcm } from '../harness/mcm.ts';

const program = await sharedBundle('mcm');

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const PATIENCE_MS = 180_000;

test.skipIf(!hasKubectl)('kubectl rolls out a deployment with each strategy', { timeout: PATIENCE_MS }, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'mcm-strategies-'));
  const up = mcm(['up', '--no-tty'], { cwd, program });
  try {
    await up.line(/^ready: 3 machines Running/);
    const kubectl = (...args: readonly string[]): string => {
      const run = spawnSync('kubectl', ['--kubeconfig', join(cwd, '.mcm', 'kubeconfig'), ...args], {
        encoding: 'utf8',
      });
      if (run.status !== 0) throw new Error(`kubectl ${args.join(' ')}: ${run.stderr}`);
      return run.stdout.trim();
    };
    const name = kubectl('get', 'machinedeployments', '-o', 'name');
    const uids = (): string[] =>
      kubectl('get', 'machines', '-o', 'jsonpath={.items[*].metadata.uid}').split(' ').sort();
    const patch = (spec: object) => kubectl('patch', name, '--type=merge', '-p', JSON.stringify({ spec }));
    const rollTo = (generation: string) => patch({ template: { metadata: { labels: { generation } } } });
    const rollout = (...args: readonly string[]) =>
      mcm(['rollout', ...args, name.split('/').at(-1) ?? ''], { cwd, program }).ended;
    const isOver = async (generation: string): Promise<void> => {
      // One process watches the rollout, because a poll would start a new kubectl each time.
      expect(await rollout('status')).toMatchObject({ code: 0 });
      const labels = 'jsonpath={.items[?(@.spec.replicas==3)].spec.template.metadata.labels.generation}';
      // During an in-place update, the machines move to the new set first.
      const sized = () => kubectl('get', 'machinesets', '-o', labels);
      await expect.poll(sized, { timeout: PATIENCE_MS, interval: 200 }).toBe(generation);
      kubectl('wait', name, '--for=jsonpath={.status.updatedReplicas}=3', '--timeout=120s');
      kubectl('wait', name, '--for=jsonpath={.status.replicas}=3', '--timeout=120s');
      kubectl('wait', name, '--for=condition=Available', '--timeout=120s');
    };
    const kept = (before: readonly string[]): number => uids().filter((uid) => before.includes(uid)).length;

    const first = uids();
    patch({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 0 } } });
    rollTo('rolling');
    await isOver('rolling');
    expect(kept(first)).toBe(0);

    expect(await rollout('pause')).toMatchObject({ code: 0 });
    const second = uids();
    patch({ strategy: { type: 'Recreate', rollingUpdate: null } });
    rollTo('recreate');
    expect(uids()).toEqual(second);
    expect(await rollout('resume')).toMatchObject({ code: 0 });
    await isOver('recreate');
    expect(kept(second)).toBe(0);

    // The test rolls back twice: first to the previous template, and then to a revision by its number.
    const history = await rollout('history');
    expect(history).toMatchObject({ code: 0 });
    const recreated = uids();
    expect(await rollout('undo')).toMatchObject({ code: 0 });
    await isOver('rolling');
    expect(kept(recreated)).toBe(0);
    const revision = kubectl(
      'get',
      name,
      '-o',
      'jsonpath={.metadata.annotations.deployment\\.kubernetes\\.io/revision}',
    );
    expect(await rollout('undo', `--to-revision=${Number(revision) - 1}`)).toMatchObject({ code: 0 });
    await isOver('recreate');
    expect(kubectl('get', name, '-o', 'jsonpath={.spec.rollbackTo}')).toBe('');

    const third = uids();
    const inPlace = (orchestrationType: string) => ({ orchestrationType, maxSurge: 0, maxUnavailable: 3 });
    patch({ strategy: { type: 'InPlaceUpdate', inPlaceUpdate: inPlace('Auto') } });
    rollTo('auto');
    await isOver('auto');
    expect(uids()).toEqual(third);

    patch({ strategy: { inPlaceUpdate: inPlace('Manual') } });
    rollTo('manual');
    const candidates = () =>
      kubectl('get', 'nodes', '-l', 'node.machine.sapcloud.io/candidate-for-update', '-o', 'name');
    await expect.poll(() => candidates().split('\n').length, { timeout: PATIENCE_MS, interval: 200 }).toBe(3);
    kubectl('label', 'nodes', '--all', 'node.machine.sapcloud.io/selected-for-update=true');
    await isOver('manual');
    expect(uids()).toEqual(third);
  } finally {
    up.child.kill('SIGTERM');
    await up.ended;
    rmSync(cwd, { recursive: true, force: true });
  }
});
