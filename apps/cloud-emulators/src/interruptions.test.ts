import { VirtualClock } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { ArmEndpoint } from './arm/endpoint.ts';
import { GceEndpoint } from './gce/endpoint.ts';
import type { Emulator } from './server/emulator.ts';

const VM = '/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/m-1';

/** Creates an emulator with the VM `m-1`, and collects the interruption notices of its metadata service. */
function rig(cloud: 'azure' | 'gcp') {
  const clock = new VirtualClock();
  const told: string[] = [];
  const off: string[] = [];
  const power = {
    on: () => undefined,
    off: (id: string) => void off.push(id),
    notice: (_: string, text: string) => void told.push(text),
  };
  const common = { clock, power, operationMs: 1_000 };
  const place = (): Emulator => {
    if (cloud === 'azure') {
      const arm = new ArmEndpoint(common);
      arm.place(VM, { location: 'northeurope', properties: {} });
      return arm;
    }
    const gce = new GceEndpoint(common);
    gce.place('project', 'zone', { name: 'm-1' });
    return gce;
  };
  const emulator = place();
  const state = () => emulator.resources().find(({ name }) => name === 'm-1')?.state;
  return { clock, told, off, emulator, state };
}

describe.each(['azure', 'gcp'] as const)('an interruption on %s', (cloud) => {
  test('an interruption is reported by the metadata service, and ends the VM at its deadline', async () => {
    const { clock, told, off, emulator, state } = rig(cloud);
    await clock.advance(5_000);
    expect(emulator.interrupt?.('m-1', { kind: 'Terminate', noticeMs: 30_000 })).toBe(true);
    const now = clock.now().getTime();
    expect(JSON.parse(told[0] ?? '')).toMatchObject({
      kind: 'Terminate',
      noticedAt: new Date(now).toISOString(),
      deadline: new Date(now + 30_000).toISOString(),
    });
    await clock.advance(29_999);
    expect(off).toEqual([]);
    await clock.advance(2_000);
    expect(off).toHaveLength(1);
    expect([undefined, 'TERMINATED']).toContain(state());
  });

  test('an interruption of a VM that does not exist is refused, and maintenance ends no VM', async () => {
    const { clock, told, off, emulator } = rig(cloud);
    await clock.advance(5_000);
    expect(emulator.interrupt?.('other', { kind: 'Terminate', noticeMs: 0 })).toBe(false);
    expect(emulator.interrupt?.('m-1', { kind: 'Maintenance', noticeMs: 1_000 })).toBe(true);
    expect(emulator.interrupt?.('m-1', { kind: 'Freeze', noticeMs: 1_000 })).toBe(true);
    await clock.advance(60_000);
    expect(told).toHaveLength(1);
    expect(off).toEqual([]);
  });
});
