import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import { expect, test } from 'vitest';
import { blocksOf } from '../docs/commands/blocks.ts';
import { ROOT } from '../docs/sources.ts';
import { openDoor } from '../harness/door.ts';
import { RestoreVerifier } from '../simulation/verifiers/restore-verifier.ts';
import { NAMESPACE, World } from '../simulation/world/world.ts';

/** Runs the steps of docs/how-to.md after a restore of the control cluster, with kubectl. */

const run = promisify(execFile);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The commands of the how-to, in their order. */
function commands(): readonly string[] {
  const page = 'docs/how-to.md';
  const blocks = blocksOf(page, readFileSync(join(ROOT, page), 'utf8'));
  const [block, ...others] = blocks.filter(({ text }) => text.includes('reason=OrphanVM'));
  expect(others).toEqual([]);
  expect(block?.run).toEqual({ by: 'test', path: 'e2e/src/kubectl/restore.test.ts' });
  return block?.text.split('\n') ?? [];
}

test('the commands of the how-to list, release and replace after a restore of the control cluster', async () => {
  const [list = '', read = '', release = '', override = '', ...more] = commands();
  expect(more).toEqual([]);
  const verifier = new RestoreVerifier();
  const world = await World.start({
    restorable: true,
    machine: { creationTimeout: '5m', healthTimeout: '1m' },
    wrapCloud: verifier.wrap,
  });
  verifier.watch(world);
  const door = await openDoor(world);
  const shell = async (script: string): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: door.kubeconfig };
    return (await run('bash', ['-ec', script], { env })).stdout;
  };
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

    const reported = await shell(list);
    for (const name of young) expect(reported).toContain(name);
    const ids = await shell(read.replaceAll('CLASS', 'blue'));
    expect(ids).toBe(await quarantined());

    await shell(release.replaceAll('CLASS', 'blue').replaceAll('PROVIDER-ID,PROVIDER-ID', ids));
    await world.until(async () => world.vms().length === 3, HOUR);
    expect(world.vms().toSorted()).toEqual([...known].toSorted());

    const until = new Date(world.clock.now().getTime() + HOUR).toISOString();
    await shell(override.replaceAll('CLASS', 'blue').replace('2026-01-01T13:00:00Z', until));
    expect((await blue()).metadata.annotations?.[Annotations.BreakerOverride]).toBe(`${until} VMs are gone`);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await door.close();
    await world.close();
  }
});
