import type { Machine } from '@mcm/api';
import { createMemoryLogger, type EventObject, type KubeClient, KubeError, type Lease, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ASSUMED } from '../../explain/settings/machine-settings.ts';
import { assumedSettings } from '../../explain/settings/manager-settings.ts';
import { GapKeeper } from '../gaps.ts';
import { followSettings } from '../settings.ts';
import type { FleetSource, Snapshot } from '../snapshot.ts';
import { firstOf, phaseOf } from './machine-order.ts';
import { type Fleet, overview } from './overview.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const before = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

const machine = (name: string, phase: string) =>
  ({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, creationTimestamp: before(60) },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
    status: { currentStatus: { phase, lastUpdateTime: before(60) } },
  }) as unknown as Machine;

const event = (seconds: number) =>
  ({
    metadata: { name: `e-${seconds}`, uid: `uid-e-${seconds}`, creationTimestamp: before(seconds) },
    involvedObject: { kind: 'Machine', name: 'm' },
    message: `told ${seconds} s ago`,
  }) as unknown as EventObject;

/** The drawn sections of a fleet. */
function drawn(found: Partial<Snapshot>, filter = '') {
  const gaps = { missing: [], refused: new Map<string, string>(), stale: undefined, why: undefined };
  const nothing = { deployments: [], sets: [], machines: [], classes: [], nodes: undefined, events: [] };
  const { machines = [] } = found;
  const phases = new Map([...Map.groupBy(machines, phaseOf)].map(([phase, all]) => [phase, all.length]));
  const order: Snapshot['order'] = { first: (most) => firstOf(machines, most), phases };
  const source = { snapshot: () => ({ ...nothing, gaps, order, ...found }), machineClass: () => undefined };
  const fleet: Fleet = {
    namespace: 'default',
    source: source as unknown as FleetSource,
    drains: { explain: () => undefined, unseen: () => [], watched: () => ({ machines: [], more: 0 }) },
    settings: () => ({ manager: assumedSettings('nobody leads'), ofMachines: ASSUMED }),
  };
  return Object.fromEntries(
    overview(fleet, filter)
      .draw(NOW)
      .map(({ id, body }) => [id, body.text]),
  );
}

const all = (text = '', pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

test('the thirty newest events are shown, newest first, for any order in the cache', () => {
  const kept = Array.from({ length: 40 }, (_, index) => ((index * 7) % 40) + 1);
  const told = all(drawn({ events: kept.map(event) }).events, /told (\d+) s ago/g).map(Number);
  expect(told).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});

test('two hundred machines are shown, those that need attention first, then by name', () => {
  const name = (index: number): string => `m-${String((index * 11) % 210).padStart(3, '0')}`;
  const found = Array.from({ length: 210 }, (_, index) => machine(name(index), 'Running'));
  const machines = [...found, machine('z-ill', 'Failed'), machine('y-ill', 'Failed')];
  const shown = all(drawn({ machines }).machines, /href="\/machines\/([^"]+)"/g);
  const running = Array.from({ length: 198 }, (_, index) => `m-${String(index).padStart(3, '0')}`);
  expect(shown).toEqual(['y-ill', 'z-ill', ...running]);
  expect(drawn({ machines }, 'ill failed').machines).toContain('2 of 212 shown.');
});

test('a kind that was never read is missing, not outdated', () => {
  const changes: string[] = [];
  const gaps = new GapKeeper(new VirtualClock({ start: NOW }), () => changes.push('changed'));
  const kind = (resource: string, synced: boolean) => ({
    ...{ resource, synced, refused: undefined },
    sinceDataMs: () => 5_000,
  });
  for (const resource of ['machines', 'events']) gaps.outage(resource, new KubeError('gone', { code: 0 }));
  expect(gaps.of([kind('machines', true), kind('events', false)])).toEqual({
    missing: ['events'],
    refused: new Map(),
    stale: { kinds: ['machines'], since: new Date(NOW.getTime() - 5_000) },
    why: 'gone',
  });
  expect(changes).toHaveLength(2);
});

test('flags are read each minute, and the page is drawn again when they change', async () => {
  const clock = new VirtualClock();
  let [settings, told] = ['{}', 0];
  const get = async () =>
    ({
      metadata: { annotations: { 'holder-settings': `me ${settings}` } },
      spec: { holderIdentity: 'me' },
    }) as unknown as Lease;
  const client = { resource: () => ({ get }) } as unknown as KubeClient;
  const stop = new AbortController();
  const onChange = (): void => {
    told += 1;
  };
  const current = followSettings(client, 'default', {
    clock,
    log: createMemoryLogger(),
    signal: stop.signal,
    onChange,
  });
  await clock.advance(60_000);
  expect([told, current().ofMachines.remark]).toEqual([1, undefined]);
  settings = '{"machine-drain-timeout":60000}';
  await clock.advance(60_000);
  expect(told).toBe(2);
  expect(current().ofMachines.defaults.drainTimeoutMs).toBe(60_000);
  stop.abort();
});
