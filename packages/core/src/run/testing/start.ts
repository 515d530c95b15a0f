import { crds } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';
import { expect, onTestFinished } from 'vitest';
import { Rig, type RigOptions } from './rig.ts';

/** Options of a rig and of its plane. */
export interface StartOptions extends Partial<RigOptions> {
  /** CRDs of the plane; default: those of mcm. */
  readonly crds?: typeof crds;
  /** How long the plane keeps events, in milliseconds; 0: forever. Default: that of the plane. */
  readonly eventTtlMs?: number;
}

/** A rig with its own plane, both ended with the test. It has no objects and no running controller yet. */
export async function createRig({
  crds: served = crds,
  eventTtlMs,
  ...options
}: StartOptions = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const clock = new VirtualClock();
  const requests: RequestLogEntry[] = [];
  const plane = await startControlPlane({
    clock,
    crds: served,
    controllers: false,
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

/** The same with the class `small` and a running controller. */
export async function startRig(options: StartOptions = {}): Promise<Rig> {
  const { rig } = await createRig(options);
  await rig.createClass();
  rig.start();
  return rig;
}
