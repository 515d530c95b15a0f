import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { isAvailable } from '../objects/machines.ts';
import { splitSets } from '../rollout/revisions.ts';
import { placesFor } from './places.ts';
import { type ZoneRoom, zoneRooms } from './ranks.ts';
import { zoneSettingOf } from './setting.ts';
import { machinesToReplace, type ZoneInput, zoneStates } from './spread.ts';

interface ZoneReport {
  readonly name: string;
  readonly machines: number;
  readonly available: number;
  readonly state: 'open' | 'evacuated' | 'standby' | 'short';
  /**
   * The number of missing machines in the zone, and the limit of this number; undefined without a limit or a rollout.
   */
  readonly room?: ZoneRoom | undefined;
}

/** The zones of a deployment, and the zone of its next machine. */
export interface ZoneOutlook {
  readonly zones: readonly ZoneReport[];
  readonly next: { readonly zone: string; readonly because: string };
}

interface ZoneReading extends Pick<ZoneInput, 'machines' | 'nodeOf'> {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: readonly Machine[];
}

/** Describes the zones of a deployment, or returns undefined without valid zones. */
export function zoneOutlook({ deployment, sets, machines, nodeOf }: ZoneReading): ZoneOutlook | undefined {
  const setting = zoneSettingOf(deployment);
  if (!setting) return undefined;
  const { current } = splitSets(deployment, sets);
  const isOld = machinesToReplace(deployment, current, machines);
  const input = { setting, machines, nodeOf, isOld };
  const states = zoneStates(input);
  const wanted = deployment.spec.replicas ?? 0;
  const rooms = zoneRooms(input, states, wanted);
  const staying = states.reduce((sum, state) => sum + state.staying.length, 0);
  // If the deployment already has all its machines, the next machine is an additional machine.
  const [place] = placesFor(states, { count: 1, wanted: isOld ? wanted : Math.max(wanted, staying + 1), isOld });
  return {
    zones: states.map(({ zone, staying: here, evacuated, standby, short }) => ({
      name: zone.name,
      machines: here.length,
      available: here.filter(isAvailable).length,
      state: evacuated ? 'evacuated' : standby ? 'standby' : short ? 'short' : 'open',
      room: rooms.get(zone),
    })),
    next: { zone: place?.zone.name ?? '', because: place?.because ?? '' },
  };
}
