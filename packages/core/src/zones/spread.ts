import { Labels, type Machine, type MachineDeployment, type MachineSet, phaseOf } from '@mcm/api';
import { controllerOf, type Node } from '@mcm/kube';
import { isUnreachable } from '../disruption/unreachable.ts';
import { offeringOf, zoneOfferingOf } from '../driver/offerings/alternative.ts';
import { isAvailable, isFailed, isTerminating } from '../objects/machines.ts';
import type { Zone, ZoneSetting } from './setting.ts';

/** A single machine can fail for other reasons, so a zone is lost only if at least this number of machines is down. */
const LEAST_DOWN = 2;

/** The input for decisions about the zones of a deployment. */
export interface ZoneInput {
  readonly setting: ZoneSetting;
  readonly machines: readonly Machine[];
  readonly isLeaving?: ((machine: Machine) => boolean) | undefined;
  readonly nodeOf?: ((name: string) => Node | undefined) | undefined;
  readonly isOld?: ((machine: Machine) => boolean) | undefined;
}

export interface ZoneState {
  readonly zone: Zone;
  readonly staying: readonly Machine[];
  readonly leaving: number;
  readonly evacuated: boolean;
  /** Whether the zone is lost, because all its machines are down or its recorded loss has not ended. */
  readonly standby: boolean;
  readonly short: boolean;
}

/** Returns the zone of a machine from its annotation, its alternative, or its Node. */
export function zoneOfMachine({ setting: { zones }, nodeOf }: Pick<ZoneInput, 'setting' | 'nodeOf'>, machine: Machine) {
  const created = zoneOfferingOf(machine)?.zone ?? offeringOf(machine)?.zone;
  if (created !== undefined) return zones.find(({ name }) => name === created);
  const label = nodeOf?.(machine.metadata.labels?.[Labels.Node] ?? '')?.metadata.labels?.[Labels.Zone];
  return zones.find(({ name }) => name === label);
}

/**
 * Returns the function that decides whether a rollout replaces a machine.
 * @returns undefined if no rollout replaces machines
 */
export function machinesToReplace(
  { spec: { strategy } }: MachineDeployment,
  current: MachineSet | undefined,
  machines: readonly Machine[],
): ZoneInput['isOld'] {
  if (!current || strategy?.type === 'InPlaceUpdate') return undefined;
  const isOld = (machine: Machine): boolean => controllerOf(machine)?.uid !== current.metadata.uid;
  return machines.some(isOld) ? isOld : undefined;
}

const isDown = (machine: Machine): boolean => isFailed(machine) || isUnreachable(machine);

/** Returns the state of each zone. */
export function zoneStates(input: ZoneInput): readonly ZoneState[] {
  const { setting, machines, isLeaving = () => false } = input;
  const byZone = new Map<Zone, { readonly staying: Machine[]; leaving: number }>(
    setting.zones.map((zone) => [zone, { staying: [], leaving: 0 }]),
  );
  for (const machine of machines) {
    const zone = zoneOfMachine(input, machine);
    const counts = zone && byZone.get(zone);
    if (!counts) continue;
    if (isTerminating(machine) || isLeaving(machine)) counts.leaving++;
    else counts.staying.push(machine);
  }
  return [...byZone].map(([zone, { staying, leaving }]) => ({
    zone,
    staying,
    leaving,
    evacuated: setting.evacuated.has(zone.name),
    standby: isLost(staying) || (setting.standby.has(zone.name) && !staying.some(isAvailable)),
    short: setting.short.has(zone.name),
  }));
}

export const machinesByZone = (states: readonly ZoneState[]): ReadonlyMap<string, number> =>
  new Map(states.map(({ zone, staying }) => [zone.name, staying.length]));

/** Returns true if at least two machines of a zone are down, and no machine of the zone works. */
export const isLost = (staying: readonly Machine[]): boolean =>
  staying.filter(isDown).length >= LEAST_DOWN && !staying.some(isUp);

const JOINING: ReadonlySet<string | undefined> = new Set([undefined, 'Pending', 'CrashLoopBackOff']);

/** Returns true if the machine has not joined the cluster yet. */
export const isJoining = (machine: Machine): boolean => JOINING.has(phaseOf(machine));

const isUp = (machine: Machine): boolean => !isDown(machine) && !isJoining(machine);

/**
 * Returns the zones that get new machines. Without an open zone, zones without capacity get new machines. If all other
 * zones are evacuated, zones on standby get new machines, because the deployment needs its machines.
 */
export function openZones(states: readonly ZoneState[]): readonly ZoneState[] {
  const usable = states.filter(({ evacuated }) => !evacuated);
  const open = usable.filter(({ standby }) => !standby);
  const roomy = open.filter(({ short }) => !short);
  if (roomy.length > 0) return roomy;
  return open.length > 0 ? open : usable;
}
