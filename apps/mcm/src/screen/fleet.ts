import { Annotations, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import type { EventObject } from '@mcm/kube';
import { type ControllerHealth, doesAct, isDeletionAhead, notActing } from '../controllers/health.ts';
import { FLEET_KINDS } from '../events/events.ts';
import { brief } from '../explain/reasons/brief.ts';
import { problemOf } from '../explain/reasons/conditions.ts';
import { printable } from '../output/printable.ts';

export interface DeploymentView {
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  readonly old: number;
  readonly paused: boolean;
  /** Whether the manager has processed the current spec. */
  readonly observed: boolean;
  readonly problem: string | undefined;
}

export interface MachineView {
  readonly name: string;
  readonly phase: string;
  readonly node: string;
  /** What a machine does or waits for, if it is not Running. */
  readonly doing: string;
  readonly createdAt: string;
}

export interface EventView {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly object: string;
  readonly message: string;
  readonly count: number;
}

/** The data that the screen shows. All texts of a view are safe for a terminal. */
export interface FleetView {
  readonly deployments: readonly DeploymentView[];
  readonly machines: readonly MachineView[];
  readonly phases: ReadonlyMap<string, number>;
  readonly events: readonly EventView[];
  readonly controllers: readonly ControllerHealth[];
}

/**
 * The order of the phases on the screen. The first phase is empty, because a machine has no phase while its VM is being
 * created.
 */
const PHASE_ORDER = ['', 'Pending', 'Available', 'Running', 'Unknown', 'CrashLoopBackOff', 'Failed', 'Terminating'];
export const phaseName = (phase: string): string => (phase === '' ? 'Creating' : phase);

const MOST_EVENTS = 50;

export function viewFleet(
  deployments: readonly MachineDeployment[],
  sets: readonly MachineSet[],
  machines: readonly Machine[],
  events: readonly EventObject[],
  controllers: readonly ControllerHealth[] = [],
): FleetView {
  const phases = new Map<string, number>();
  const views = machines
    .map((machine) => viewMachine(machine, doesAct(controllers, 'machine-controller')))
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.name.localeCompare(b.name));
  for (const machine of views) phases.set(machine.phase, (phases.get(machine.phase) ?? 0) + 1);
  return {
    deployments: deployments
      .map((deployment) => viewDeployment(deployment, sets))
      .sort((a, b) => a.name.localeCompare(b.name)),
    machines: views,
    phases: new Map([...phases].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))),
    events: events
      // Only events of machine objects are shown. Otherwise, events of workloads in the namespace would hide them.
      .filter(({ involvedObject }) => FLEET_KINDS.has(involvedObject.kind ?? ''))
      .map(viewEvent)
      .sort((a, b) => a.at.localeCompare(b.at))
      .slice(-MOST_EVENTS),
    controllers: notActing(controllers),
  };
}

/** Returns true if all machines of all deployments exist, are available and have the current template. */
export const isSettled = (fleet: FleetView): boolean =>
  fleet.deployments.length > 0 &&
  fleet.deployments.every((d) => d.available === d.desired && d.updated === d.desired && d.old === 0) &&
  fleet.machines.length === fleet.deployments.reduce((sum, d) => sum + d.desired, 0);

const rank = (phase: string): number => {
  const index = PHASE_ORDER.findIndex((known) => phaseName(known) === phase);
  return index < 0 ? PHASE_ORDER.length : index;
};

function viewDeployment(deployment: MachineDeployment, sets: readonly MachineSet[]): DeploymentView {
  const { status } = deployment;
  const updated = status?.updatedReplicas ?? 0;
  const owned = sets.filter((set) =>
    set.metadata.ownerReferences?.some((owner) => owner.uid === deployment.metadata.uid),
  );
  const newest = Math.max(...owned.map(revisionOf));
  return {
    name: deployment.metadata.name,
    desired: deployment.spec.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    updated,
    available: status?.availableReplicas ?? 0,
    old: owned.filter((set) => revisionOf(set) < newest).reduce((sum, set) => sum + (set.status?.replicas ?? 0), 0),
    paused: deployment.spec.paused ?? false,
    observed: (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0),
    problem: shown(problemOf(deployment)),
  };
}

const shown = (text: string | undefined): string | undefined => (text === undefined ? undefined : printable(text));

const revisionOf = (set: MachineSet): number => Number(set.metadata.annotations?.[Annotations.Revision] ?? 0);

/**
 * Returns a machine, prepared for the screen.
 * @param acts Whether the machine controller is working. If the machine controller does not work, its last report
 * gets a prefix, because the controller does not execute the actions in the report.
 */
function viewMachine(machine: Machine, acts: boolean): MachineView {
  const { metadata, status } = machine;
  const phase = metadata.deletionTimestamp ? 'Terminating' : phaseName(printable(status?.currentStatus?.phase ?? ''));
  const doing = isDeletionAhead(machine)
    ? 'the deletion is requested'
    : inShort(status?.lastOperation?.description ?? '');
  return {
    name: metadata.name,
    phase,
    node: printable(machine.metadata.labels?.node ?? ''),
    doing:
      phase === 'Running' ? '' : printable(acts ? doing : doing === '' ? 'not continued' : `not continued: ${doing}`),
    createdAt: metadata.creationTimestamp,
  };
}

/** Every text about a drain starts with the same words. This function removes these words. */
const inShort = (description: string): string =>
  brief(description).replace(/^Drain failed: (?:error while evicting )?/, 'Drain: ');

const viewEvent = (event: EventObject): EventView => ({
  at: event.lastTimestamp ?? event.metadata.creationTimestamp,
  type: event.type ?? 'Normal',
  reason: printable(event.reason ?? ''),
  object: printable(`${event.involvedObject.kind ?? ''}/${event.involvedObject.name ?? ''}`),
  message: printable(brief(event.message ?? '')),
  count: event.count ?? 1,
});
