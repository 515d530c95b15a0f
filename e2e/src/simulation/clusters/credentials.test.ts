import { machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { configMaps, events, leases } from '@mcm/kube';
import { expect, test } from 'vitest';
import { FleetWorld } from './fleet-world.ts';

const CREDENTIAL = /(cloud-)?token-of-[a-z0-9]+|bad-credential/;
const KINDS = [machines, machineSets, machineDeployments, machineClasses, events, leases, configMaps];

test('a replica shows no credentials of its clusters, and sends them only to their own servers', async () => {
  const world = await FleetWorld.start({
    seed: 1,
    clusters: 3,
    replicas: 1,
    skewMs: [0],
    killPoint: () => undefined,
    restartMs: () => 2_000,
    defect: {},
  });
  await world.clock.advance(60_000);
  expect(await world.mismatch()).toBeUndefined();
  await world.change('c1', { machineClass: 'green' });
  // Errors of a parser often contain a part of their input.
  world.misled.add('c2');
  await world.changeKubeconfig('c2', 'users:\n- name: u\n  user: {token: bad-credential\n broken');
  await world.clock.advance(30_000);
  const stored = await Promise.all(
    KINDS.flatMap((kind) => [undefined, ...world.clusters].map((name) => world.seedAdmin.resource(kind, name).list())),
  );
  const texts = await world.clock.ended(Promise.all(world.programs.map((program) => program.texts())), {
    maxMs: 60_000,
  });
  const shown = [
    ...world.log.lines.map((line) => JSON.stringify(line)),
    ...texts.flat(),
    ...stored.flatMap(({ items }) => items.map((item) => JSON.stringify(item))),
  ];
  expect(shown.filter((text) => CREDENTIAL.test(text)).map((text) => text.slice(0, 300))).toEqual([]);
  expect(shown.join('\n')).toContain('Secret c2/fleet-kubeconfig is not YAML');
  expect(world.fences.verified).toBeGreaterThan(0);
  expect(world.reporter.violations).toEqual([]);
  await world.close();
});
