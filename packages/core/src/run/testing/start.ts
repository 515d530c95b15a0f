import { crds } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';
import { expect, onTestFinished } from 'vitest';
import { Rig, type RigOptions } from './rig.ts';

/** What a rig is started with: its own options, and those of the plane that it talks to. */
export interface StartOptions extends Partial<RigOptions> {
  /** CRDs of the plane; default: ours. */
  readonly crds?: typeof crds;
  /** Milliseconds for which the plane keeps events; 0: for ever. Default: the plane's own. */
  readonly eventTtlMs?: number;
}

/** A rig with a plane of its own, both ended with the test; nothing is made and no controller runs yet. */
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

/** The same with the class `small`, and the controller running. */
export async function startRig(options: StartOptions = {}): Promise<Rig> {
  const { rig } = await createRig(options);
  await rig.createClass();
  rig.start();
  return rig;
}
