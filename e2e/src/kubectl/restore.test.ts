import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Annotations, Labels, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { expect, test } from 'vitest';
import { blocksOf } from '../docs/commands/blocks.ts';
import { ROOT } from '../docs/sources.ts';
import { openExtraAddress } from '../harness/extra-address.ts';
import { RestoreVerifier } from '../simulation/verifiers/restore-verifier.ts';
import { NAMESPACE, World } from '../simulation/world/world.ts';

/** Runs the steps of docs/how-to.md after a restore of the control cluster, with kubectl. */

const run = promisify(execFile);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const PAGE = readFileSync(join(ROOT, 'docs/how-to.md'), 'utf8');

function blockWith(part: string): string {
  const [block, ...others] = blocksOf('docs/how-to.md', PAGE).filter(({ text }) => text.includes(part));
  expect(others).toEqual([]);
  expect(block?.run).toEqual({ by: 'test', path: 'e2e/src/kubectl/restore.test.ts' });
  return block?.text ?? '';
}

async function shell(kubeconfig: string, script: string): Promise<string> {
  return (await run('bash', ['-ec', script], { env: { ...process.env, KUBECONFIG: kubeconfig } })).stdout;
}

test('the commands of the how-to list, release and replace after a restore of the control cluster', async () => {
  const [list = '', read = '', release = '', override = '', ...more] = blockWith('reason=OrphanVM').split('\n');
  expect(more).toEqual([]);
  const verifier = new RestoreVerifier();
  const world = await World.start({
    restorable: true,
    machine: { creationTimeout: '5m', healthTimeout: '1m' },
    wrapCloud: verifier.wrap,
  });
  verifier.watch(world);
  const door = await openExtraAddress(world);
  try {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    const backup = world.backup();
    await world.change({ replicas: 5 });
    await world.untilSettled(5, 'blue');
    await world.restore(backup);
    const known = new Set((await world.machines()).map(({ metadata }) => metadata.name));
    const young = world.vms().filter((name) => !known.has(name));
    verifier.forgets(young);
    await world.clock.advance(1_000);
    world.restartCloud(5_000);
    const blue = () => world.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('blue');
    const quarantined = async (): Promise<string | undefined> =>
      (await blue()).metadata.annotations?.[Annotations.QuarantinedVMs];
    await world.until(async () => (await quarantined())?.split(',').length === 2, 20 * MINUTE);
    await world.clock.advance(MINUTE);

    const reported = await shell(door.kubeconfig, list);
    for (const name of young) expect(reported).toContain(name);
    const ids = await shell(door.kubeconfig, read.replaceAll('CLASS', 'blue'));
    expect(ids).toBe(await quarantined());

    await shell(door.kubeconfig, release.replaceAll('CLASS', 'blue').replaceAll('PROVIDER-ID,PROVIDER-ID', ids));
    await world.until(async () => world.vms().length === 3, HOUR);
    expect(world.vms().toSorted()).toEqual([...known].toSorted());

    const until = new Date(world.clock.now().getTime() + HOUR).toISOString();
    await shell(door.kubeconfig, override.replaceAll('CLASS', 'blue').replace('2026-01-01T13:00:00Z', until));
    expect((await blue()).metadata.annotations?.[Annotations.BreakerOverride]).toBe(`${until} VMs are gone`);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await door.close();
    await world.close();
  }
});

test('the manifest of the how-to takes a VM back from the quarantine, into its MachineSet', async () => {
  const world = await World.start();
  const door = await openExtraAddress(world);
  try {
    await world.createDeployment(4);
    await world.untilSettled(4, 'blue');
    const resource = world.admin.resource<Machine>(machines, NAMESPACE);
    const lost = (await world.machines()).slice(0, 2);
    const [kept, other] = lost;
    if (!kept || !other) throw new Error('the deployment must have machines');
    const node = kept.metadata.labels?.[Labels.Node];
    // The machine controller cordons the Nodes, but cannot delete the VMs before the finalizers are removed.
    world.restartCloud(5_000);
    for (const { metadata } of lost) {
      await resource.delete(metadata.name);
      await resource.patch(metadata.name, { type: 'merge', body: { metadata: { finalizers: null } } });
    }
    const blue = () => world.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('blue');
    const quarantined = async (): Promise<readonly string[]> =>
      (await blue()).metadata.annotations?.[Annotations.QuarantinedVMs]?.split(',') ?? [];
    await world.until(async () => (await quarantined()).length === 2, HOUR);
    expect(await quarantined()).toContain(kept.spec.providerID);

    const values = {
      MACHINE: kept.metadata.name,
      HASH: kept.metadata.labels?.[Labels.TemplateHash] ?? '',
      CLASS: 'blue',
      'PROVIDER-ID': kept.spec.providerID ?? '',
    };
    const [, manifest = ''] = /```yaml\n(# machine\.yaml\n[^`]*)```/.exec(PAGE) ?? [];
    const yaml = Object.entries(values).reduce((text, [name, value]) => text.replace(name, value), manifest);
    const script = blockWith('machine.yaml').replace('DEPLOYMENT', 'workers').replace('REPLICAS', '5');
    await shell(door.kubeconfig, `cd "$(mktemp -d)"; cat > machine.yaml <<'END'\n${yaml}END\n${script}`);
    await world.until(
      async () => (await resource.get(kept.metadata.name)).status?.currentStatus?.phase === 'Running',
      10 * MINUTE,
    );
    await world.until(async () => (await world.machines()).length === 5, 10 * MINUTE);
    const { metadata } = await resource.get(kept.metadata.name);
    expect(metadata.labels?.[Labels.Node]).toBe(node);
    expect(metadata.ownerReferences).toEqual(kept.metadata.ownerReferences);
    await world.until(async () => String(await quarantined()) === other.spec.providerID, HOUR);
    expect(world.vms()).toContain(kept.metadata.name);
  } finally {
    await door.close();
    await world.close();
  }
});
