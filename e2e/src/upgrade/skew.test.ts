import { Annotations } from '@mcm/api';
import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { type ProcessName, World } from '../simulation/world/world.ts';

const OURS: readonly string[] = [
  Annotations.Replacement,
  Annotations.DeletedForHealth,
  Annotations.MachineClassOfNode,
  Annotations.SelectedForTemplate,
];

interface Body {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, unknown>> };
}

const older =
  (which: ProcessName, left: Set<string>) =>
  (name: ProcessName, transport: Transport): Transport =>
  async (request) => {
    if (name !== which || typeof request.body !== 'string' || !request.body.includes('annotations'))
      return transport(request);
    const body = JSON.parse(request.body) as Body;
    const { annotations = {} } = body.metadata ?? {};
    for (const key of OURS) if (key in annotations) left.add(key);
    const kept = Object.fromEntries(Object.entries(annotations).filter(([key]) => !OURS.includes(key)));
    return transport({
      ...request,
      body: JSON.stringify({ ...body, metadata: { ...body.metadata, annotations: kept } }),
    });
  };

test.each([
  ['manager', [Annotations.Replacement]],
  ['machine-controller', [Annotations.MachineClassOfNode]],
] as const)(
  'an older %s with the other container of today: it rolls out, replaces, scales, and creates nothing twice',
  async (which, kept) => {
    const left = new Set<string>();
    const world = await World.start({ maxSurge: 1, wrap: older(which, left) });
    try {
      await world.createDeployment(2);
      await world.untilSettled(2, 'blue');
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      await world.untilSettled(2, 'green');
      const [victim] = await world.machines();
      await world.deleteMachine(victim?.metadata.name ?? '');
      const isThere = async () =>
        (await world.machines()).some(({ metadata }) => metadata.uid === victim?.metadata.uid);
      await world.until(async () => !(await isThere()));
      await world.untilSettled(2, 'green');
      expect(world.vmsMade).toBe(5);
      await world.change({ replicas: 1 });
      await world.untilSettled(1, 'green');
      await world.deleteDeployment();
      await world.until(async () => (await world.machines()).length === 0);
      expect(world.vmsMade).toBe(5);
      expect([...left]).toEqual(expect.arrayContaining([...kept]));
      expect(world.violations, world.reporter.tell()).toEqual([]);
    } finally {
      await world.close();
    }
  },
);
