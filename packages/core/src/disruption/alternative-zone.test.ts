import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { at, NOON } from '../machine/testing.ts';
import { fixedCensus } from './test-census.ts';
import { BREAKER_DEFAULTS } from './unreachable.ts';

const ZONE = 'topology.kubernetes.io/zone';

const machine = (offering?: object): Machine =>
  ({
    metadata: {
      name: 'm',
      namespace: 'n',
      labels: { node: 'node' },
      annotations: offering ? { [Annotations.CapacityOffering]: JSON.stringify(offering) } : {},
    },
    spec: { class: { name: 'c' }, nodeTemplate: { metadata: { labels: { [ZONE]: 'first' } } } },
  }) as never;

const census = (labels: Record<string, string>) => {
  const fixed = fixedCensus();
  fixed.classes.put({ metadata: { name: 'c', namespace: 'n' }, nodeTemplate: { zone: 'class' } } as MachineClass &
    never);
  fixed.nodes.put({ metadata: { name: 'node', labels } } as Node & never);
  return fixed.census;
};

test('a machine with an alternative counts in the zone of its Node', () => {
  const counted = census({ [ZONE]: 'real' });
  expect(counted.zoneOf(machine())).toBe('first');
  expect(counted.zoneOf(machine({}))).toBe('first');
  expect(counted.zoneOf(machine({ machineType: 'large' }))).toBe('first');
  expect(counted.zoneOf(machine({ zone: '2' }))).toBe('real');
  expect(counted.zoneOf(machine({ subnet: 'subnet-b' }))).toBe('real');
});

test('a machine stays in the zone of its Node after the Node was deleted', () => {
  const { machines, nodes, census: counted } = fixedCensus();
  const dark = ['a', 'b', 'c'].map((name): Machine => {
    const one = machine({ zone: '2' });
    const status = { currentStatus: { phase: 'Unknown', lastUpdateTime: at(-11) } } as const;
    return { ...one, metadata: { ...one.metadata, name }, status };
  });
  const real = partial<Node>({ metadata: { name: 'node', labels: { [ZONE]: 'real' } } });
  nodes.put(real);
  for (const one of dark) machines.put(one);
  nodes.lose(real);
  for (const one of dark) machines.put({ ...one, metadata: { ...one.metadata, resourceVersion: '2' } });
  const [mine = machine()] = dark;
  expect(counted.breakerOf(mine, BREAKER_DEFAULTS, NOON)?.scope).toBe('zone real');
});

test('a machine without a Node counts in the zone of the alternative', () => {
  expect(census({}).zoneOf(machine({ zone: '2' }))).toBe('2');
});
