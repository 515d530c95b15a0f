import { crds } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';
import { expect, onTestFinished } from 'vitest';
import { Rig, type RigOptions } from './rig.ts';

export interface StartOptions extends Partial<RigOptions> {
  readonly crds?: typeof crds;
  /** The time for which the control plane keeps events, in milliseconds; 0 keeps them forever. */
  readonly eventTtlMs?: number;
  readonly runtimeConfig?: readonly string[];
  readonly controllers?: readonly string[];
}

/** Creates a rig with a control plane. The test must stop the rig and the control plane. */
export async function createRig({
  crds: served = crds,
  eventTtlMs,
  runtimeConfig,
  controllers = [],
  ...options
}: StartOptions = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const clock = new VirtualClock();
  const requests: RequestLogEntry[] = [];
  const plane = await startControlPlane({
    clock,
    crds: served,
    controllers,
    runtimeConfig,
    requestLog: (entry) => requests.push(entry),
    ...(eventTtlMs === undefined ? {} : { eventTtlMs }),
  });
  const rig = new Rig({ clock, plane, ...options });
  onTestFinished(async () => {
    await rig.kill();
    await plane.close();
    expect([...rig.writes.unbound]).toEqual([]);
  });
  return { rig, requests };
}

export async function startRig(options: StartOptions = {}): Promise<Rig> {
  const { rig } = await createRig(options);
  await rig.createClass();
  rig.start();
  return rig;
}
