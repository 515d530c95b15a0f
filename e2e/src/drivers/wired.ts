import { type Emulator, noPower } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { Wire } from './endpoints/wire.ts';
import type { FleetProvider } from './fleet.ts';
import { Stage } from './rows/stage.ts';

export interface Wired<Spec, Credentials> {
  readonly clock: VirtualClock;
  readonly cloud: Emulator;
  readonly wire: Wire;
  readonly stage: Stage<Spec, Credentials>;
  readonly left: () => readonly string[];
}

export function wired<Spec, Credentials>(
  { cloud: open, driver, machineClass, secret }: FleetProvider<Spec, Credentials>,
  change: object = {},
): Wired<Spec, Credentials> {
  // Within one call, the AWS SDK needs several turns of the event loop.
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = open({ clock, power: noPower });
  const wire = new Wire(clock, cloud.transport);
  const spec = { ...(machineClass.providerSpec as object), ...change };
  const base = { provider: machineClass.provider ?? '', spec, secret: { userData: '#cloud-config', ...secret } };
  const stage = new Stage(clock, driver({ clock, random: seededRandom(3), connect: wire.connect }), base);
  const left = (): readonly string[] =>
    cloud
      .resources()
      .map(({ kind, name }) => `${kind} ${name}`)
      .toSorted();
  return { clock, cloud, wire, stage, left };
}
