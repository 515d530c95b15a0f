/**
 * Commands and pages must not state the next step of a controller that has stopped.
 *
 * - For a single check, `readControllers` in `read.ts` reads the Leases and calls {@link assessControllers}.
 * - For a watch, keep one {@link ControllerObserver} and call its `assess` at least every 2 s. If a controller stops,
 *   no watch event occurs.
 *
 * Evidence that a controller is not working, strongest first:
 *
 * - The leader does not renew the Lease.
 * - No process holds the Lease.
 * - `observedGeneration` of a MachineDeployment stays lower than its generation.
 *
 * Without a Lease, the state of a controller is `stopped` if objects prove that the controller is not working.
 * Otherwise, the state is `unknown`.
 */
import { formatTime, type Machine, type MachineDeployment, MachineDeploymentConditions, parseTime } from '@mcm/api';
import { validateDeployment } from '@mcm/core';
import type { Lease } from '@mcm/kube';
import { age } from '../output/age.ts';

const CONTROLLERS = {
  'machine-controller-manager': {
    effects: [
      'mcm rolls out no change, and scales no MachineDeployment or MachineSet',
      'mcm replaces no failed or deleted machine',
    ],
  },
  'machine-controller': {
    effects: [
      'mcm creates and deletes no VM, and drains no node',
      'mcm checks no machine, so the phases of machines do not change',
    ],
  },
  'machine-config-controller': {
    effects: ['mcm renders no configuration, and updates no further node'],
  },
} as const satisfies Record<string, { readonly effects: readonly string[] }>;

export type ControllerName = keyof typeof CONTROLLERS;

export const CONTROLLER_NAMES = Object.keys(CONTROLLERS) as readonly ControllerName[];

export interface ControllerHealth {
  readonly name: string;
  /**
   * - `acts`: a process renews the Lease
   * - `stopped`: no process can act
   * - `behind`: a process renews the Lease but does not process changed objects
   * - `unknown`: the controller has no Lease, and no other evidence exists
   */
  readonly state: 'acts' | 'stopped' | 'behind' | 'unknown';
  readonly since?: string | undefined;
  readonly holder?: string;
  /** For the state `acts`, `reason` is empty. */
  readonly reason: string;
  /** The tasks that are not done while the controller is stopped. */
  readonly effects: readonly string[];
  /** For the state `behind`, the names of the MachineDeployments whose changes are not processed. */
  readonly unprocessed: readonly string[];
}

export interface ControllerSource {
  readonly leases: ReadonlyMap<string, Lease>;
  readonly deployments: readonly MachineDeployment[];
  readonly machines?: readonly Machine[];
  readonly refused?: ReadonlyMap<string, string>;
}

const HAND_OVER_MS = 10_000;
const BEHIND_MS = 60_000;

interface LeaseAge {
  readonly ms: number;
  readonly durationMs: number;
  readonly at: Date | undefined;
}

const durationOf = ({ spec }: Lease): number => (spec?.leaseDurationSeconds || 15) * 1_000;

/** Computes the age of a Lease from the times in the Lease. */
function ageOf(lease: Lease, now: Date): LeaseAge {
  const at = parseTime(lease.spec?.renewTime ?? undefined);
  return { ms: at === undefined ? 0 : now.getTime() - at.getTime(), durationMs: durationOf(lease), at };
}

/** Returns true if a Lease has a holder, and has expired according to its times. */
export const looksExpired = (lease: Lease, now: Date): boolean => {
  const { ms, durationMs } = ageOf(lease, now);
  return (lease.spec?.holderIdentity ?? '') !== '' && ms > durationMs;
};

/** An entry of `metadata.managedFields`, with the fields that show the time of a write. */
interface ManagedWrite {
  readonly subresource?: unknown;
  readonly time?: unknown;
}

/**
 * Returns the time of the last write for which the API server stored a time. If no write has a time, the result is
 * undefined.
 */
function latestOf(writes: readonly ManagedWrite[]): number | undefined {
  const times = writes.map(({ time }) => (typeof time === 'string' ? Date.parse(time) : Number.NaN));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : undefined;
}

/**
 * Returns the time of the last spec change. The manager has not processed this change yet. If the object does not
 * contain the time, the result is undefined.
 */
function specChangedAt({ metadata }: MachineDeployment): Date | undefined {
  const { managedFields } = metadata as { readonly managedFields?: unknown };
  const writes = (Array.isArray(managedFields) ? managedFields : []).filter(
    (entry): entry is ManagedWrite => typeof entry === 'object' && entry !== null,
  );
  const latest = latestOf(writes.filter(({ subresource }) => subresource === undefined || subresource === ''));
  if (latest === undefined) return metadata.generation === 1 ? parseTime(metadata.creationTimestamp) : undefined;
  // The API server stores no time for a write to the subresource `scale`, such as `kubectl scale`. If no other write is
  // newer than the status, the unprocessed change is the scaling, and its time is unknown.
  const wasScaled = writes.some(({ subresource, time }) => subresource === 'scale' && time === undefined);
  const status = latestOf(writes.filter(({ subresource }) => subresource === 'status'));
  return wasScaled && status !== undefined && latest <= status ? undefined : new Date(latest);
}

/**
 * Returns true if the manager has not processed the last change of a deployment. A refused or deleted deployment does
 * not count, because the manager never updates its observed generation.
 */
function isUnprocessed(deployment: MachineDeployment): boolean {
  const { metadata, status } = deployment;
  if ((status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)) return false;
  if (metadata.deletionTimestamp !== undefined || validateDeployment(deployment).length > 0) return false;
  return !status?.conditions?.some(({ type, status: is }) => REFUSALS.includes(type) && is === 'True');
}

const REFUSALS: readonly string[] = [
  MachineDeploymentConditions.InvalidSpec,
  MachineDeploymentConditions.RolloutBlocked,
];

/** Assesses the controllers from the objects of a single read. */
export const assessControllers = (source: ControllerSource, now: Date): readonly ControllerHealth[] =>
  assess(source, now, (lease) => ageOf(lease, now), specChangedAt);

function assess(
  source: ControllerSource,
  now: Date,
  leaseAge: (lease: Lease) => LeaseAge,
  changedAt: (deployment: MachineDeployment) => Date | undefined,
): readonly ControllerHealth[] {
  return CONTROLLER_NAMES.flatMap((name) => {
    const unprocessed =
      name === 'machine-controller-manager' ? unprocessedOf(source.deployments, now, changedAt) : { names: [] };
    const lease = source.leases.get(name);
    const refusal = source.refused?.get(name);
    const health =
      lease === undefined
        ? withoutLease(name, source, unprocessed, refusal, now)
        : withLease(name, lease, leaseAge(lease), unprocessed);
    return health ?? [];
  });
}

interface Unprocessed {
  readonly names: readonly string[];
  readonly since?: Date | undefined;
}

/** Returns the deployments whose changes have been unprocessed for too long, and the time of the oldest change. */
function unprocessedOf(
  deployments: readonly MachineDeployment[],
  now: Date,
  changedAt: (deployment: MachineDeployment) => Date | undefined,
): Unprocessed {
  const late = deployments.filter(isUnprocessed).flatMap((deployment) => {
    const at = changedAt(deployment);
    return at === undefined || now.getTime() - at.getTime() < BEHIND_MS ? [] : [{ name: deployment.metadata.name, at }];
  });
  const [first] = late.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  return { names: late.map(({ name }) => name).sort(), since: first?.at };
}

const base = (name: ControllerName, state: ControllerHealth['state'], reason: string, since?: Date) => ({
  name,
  state,
  reason,
  since: since?.toISOString(),
  effects: state === 'stopped' ? CONTROLLERS[name].effects : [],
  unprocessed: [],
});

function withLease(name: ControllerName, lease: Lease, found: LeaseAge, unprocessed: Unprocessed): ControllerHealth {
  const holder = lease.spec?.holderIdentity ?? '';
  if (found.at === undefined) return base(name, 'unknown', 'the Lease of the controller has no valid renewTime');
  const leaseName = `Lease ${lease.metadata.namespace ?? ''}/${lease.metadata.name}`;
  if (holder === '' && found.ms > HAND_OVER_MS) return base(name, 'stopped', `no process holds ${leaseName}`, found.at);
  if (holder !== '' && found.ms > found.durationMs)
    return { ...base(name, 'stopped', `the leader ${holder} does not renew ${leaseName}`, found.at), holder };
  const known = holder === '' ? {} : { holder };
  if (unprocessed.names.length > 0)
    return {
      ...base(
        name,
        'behind',
        `the controller has not processed the last change of machinedeployment ${shortList(unprocessed.names)}`,
        unprocessed.since,
      ),
      ...known,
      effects: unprocessed.names.map((each) => `mcm does not roll out or scale machinedeployment ${each}`),
      unprocessed: unprocessed.names,
    };
  return { ...base(name, 'acts', ''), ...known };
}

const shortList = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');

function withoutLease(
  name: ControllerName,
  { machines = [] }: ControllerSource,
  unprocessed: Unprocessed,
  refusal: string | undefined,
  now: Date,
): ControllerHealth | undefined {
  const lease =
    refusal === undefined
      ? 'the Lease of the controller does not exist'
      : `no permission to read the Lease of the controller (${refusal})`;
  if (unprocessed.names.length > 0)
    return {
      ...base(
        name,
        'stopped',
        `${lease}, and the last change of machinedeployment ${shortList(unprocessed.names)} is not processed`,
        unprocessed.since,
      ),
      unprocessed: unprocessed.names,
    };
  const untouched = name === 'machine-controller' ? untouchedMachine(machines, now) : undefined;
  if (untouched !== undefined)
    return base(
      name,
      'stopped',
      `${lease}, and machine ${untouched.metadata.name} has no status`,
      parseTime(untouched.metadata.creationTimestamp),
    );
  const undeleted = name === 'machine-controller' ? undeletedMachine(machines, now) : undefined;
  if (undeleted !== undefined)
    return base(
      name,
      'stopped',
      `${lease}, and the deletion of machine ${undeleted.metadata.name} has not started`,
      parseTime(undeleted.metadata.deletionTimestamp),
    );
  // Most clusters do not run the machine-config-controller, so a missing Lease is not reported.
  return name === 'machine-config-controller' ? undefined : base(name, 'unknown', lease);
}

/** Returns true if a machine is being deleted, but its status reports no operation or an earlier one, such as the join. */
export const isDeletionAhead = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined && status?.lastOperation?.type !== 'Delete';

/** Returns the machine whose deletion was requested first, if the machine controller has not started the deletion. */
function undeletedMachine(machines: readonly Machine[], now: Date): Machine | undefined {
  const requested = ({ metadata }: Machine): number => parseTime(metadata.deletionTimestamp)?.getTime() ?? Number.NaN;
  return machines
    .filter((machine) => isDeletionAhead(machine) && now.getTime() - requested(machine) >= BEHIND_MS)
    .toSorted((a, b) => requested(a) - requested(b))[0];
}

function untouchedMachine(machines: readonly Machine[], now: Date): Machine | undefined {
  const created = ({ metadata }: Machine): number => parseTime(metadata.creationTimestamp)?.getTime() ?? Number.NaN;
  return machines
    .filter(
      (machine) =>
        (machine.metadata.finalizers ?? []).length === 0 &&
        machine.status?.currentStatus === undefined &&
        machine.status?.lastOperation === undefined &&
        now.getTime() - created(machine) >= BEHIND_MS,
    )
    .toSorted((a, b) => created(a) - created(b))[0];
}

/** Assesses the controllers of a watched cluster. */
export class ControllerObserver {
  readonly #leases = new Map<string, { readonly renewTime: string; readonly at: Date; readonly changed: boolean }>();
  readonly #behind = new Map<string, { readonly generation: number; readonly at: Date }>();

  /**
   * Returns the state of each controller at the time `now`. A later call of `assess` must have the same or a later
   * time.
   */
  assess(source: ControllerSource, now: Date): readonly ControllerHealth[] {
    const behind = new Set<string>();
    const changedAt = (deployment: MachineDeployment): Date | undefined => {
      const { uid, generation = 0 } = deployment.metadata;
      behind.add(uid);
      const known = this.#behind.get(uid);
      if (known?.generation === generation) return known.at;
      const at = specChangedAt(deployment) ?? now;
      this.#behind.set(uid, { generation, at });
      return at;
    };
    const health = assess(source, now, (lease) => this.#ageOf(lease, now), changedAt);
    for (const uid of this.#behind.keys()) if (!behind.has(uid)) this.#behind.delete(uid);
    return health;
  }

  #ageOf(lease: Lease, now: Date): LeaseAge {
    const { name } = lease.metadata;
    const renewTime = lease.spec?.renewTime ?? '';
    const known = this.#leases.get(name);
    if (known?.renewTime !== renewTime) this.#leases.set(name, { renewTime, at: now, changed: known !== undefined });
    const seen = this.#leases.get(name);
    // Until the Lease changes for the first time, its age is computed from the times in the Lease.
    if (seen === undefined || !seen.changed) return ageOf(lease, now);
    return { ms: now.getTime() - seen.at.getTime(), durationMs: durationOf(lease), at: seen.at };
  }
}

export const notActing = (healths: readonly ControllerHealth[]): readonly ControllerHealth[] =>
  healths.filter(({ state }) => state === 'stopped' || state === 'behind');

/** Returns false only if evidence shows that a controller does not work. */
export const doesAct = (healths: readonly ControllerHealth[], name: ControllerName, deployment?: string): boolean =>
  !healths.some(
    (health) =>
      health.name === name &&
      (health.state === 'stopped' || (deployment !== undefined && health.unprocessed.includes(deployment))),
  );

/** Returns a sentence about a controller that is not working. */
export const controllerSentence = (health: ControllerHealth, now: Date): string =>
  `${headline(health, now)}: ${health.reason}`;

function headline({ name, state, since }: ControllerHealth, now: Date): string {
  const what = state === 'behind' ? 'is behind' : 'is not working';
  const at = parseTime(since);
  const from = at === undefined ? '' : ` since ${formatTime(at)} (${age(now.getTime() - at.getTime())})`;
  return `${name} ${what}${from}`;
}

/**
 * Returns false for a repeated program. Controllers belong to one namespace, but the control plane and the cloud serve
 * all namespaces, so they are reported only once.
 */
export const isFirst = (one: ControllerHealth, index: number, all: readonly ControllerHealth[]): boolean =>
  one.name in CONTROLLERS || all.findIndex(({ name, reason }) => name === one.name && reason === one.reason) === index;

/** Returns lines about the controllers that are not working, with their effects and a hint. */
export function controllerLines(healths: readonly ControllerHealth[], now: Date): readonly string[] {
  const bad = notActing(healths).filter(isFirst);
  if (bad.length === 0) return [];
  const noun = bad.every(({ name }) => name in CONTROLLERS) ? 'controller' : 'program';
  return [
    `${noun === 'controller' ? 'Controllers' : 'Programs'} that are not working:`,
    ...bad.flatMap((health) => [
      `  - ${headline(health, now)}`,
      ...[health.reason, ...health.effects].map((line) => `      ${line}`),
    ]),
    `  hint: check the logs of the ${noun}, and restart its process if the process hangs`,
  ];
}
