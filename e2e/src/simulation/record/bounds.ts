const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A rule of the simulation, with its limit in virtual time. */
export interface Bound {
  /** The rule that is violated after this time. */
  readonly rule: string;
  /** The kinds of histories to which the rule applies. */
  readonly suites: string;
  /** The limit in milliseconds of virtual time. */
  readonly ms: number;
}

const FLEETS = 'fleets, `scaler`';
const MACHINES = '`machines`';
const POOLS = '`pools`, `join`, `config-leases`';

/**
 * All time limits of the verifiers, except the latencies and interruptions of the network profile (`Network.lagMs`).
 * `docs/contributing/simulation.md` lists them.
 */
export const BOUNDS = {
  settled: {
    suites: FLEETS,
    ms: 2 * HOUR,
    rule: 'without faults, a fleet has its size and class, all machines run, and no other resources remain',
  },
  lastWrites: {
    suites: FLEETS,
    ms: MINUTE,
    rule: 'sets and the deployment have their final status after the fleet is complete',
  },
  quiet: {
    suites: 'all',
    ms: 10 * MINUTE,
    rule: 'during this time after the fleet is complete, no write repeats the stored content',
  },
  reopened: { suites: FLEETS, ms: 160 * SECOND, rule: 'a watch without events is opened again' },
  patience: {
    suites: FLEETS,
    ms: 20 * MINUTE,
    rule: 'a replacement without its own creation timeout counts against the disruption budget during this time',
  },
  offeringClosed: {
    suites: '`capacity`',
    ms: 10 * MINUTE,
    rule: 'after the cloud refused an offering, only one machine at a time requests it again',
  },
  offeringPrepared: {
    suites: '`capacity`',
    ms: 5 * SECOND,
    rule: 'a call that began at most this long before a refusal may reach the cloud after the refusal',
  },
  interrupted: {
    suites: '`interruptions`',
    ms: 10 * SECOND,
    rule: 'without faults, an interrupted machine is deleted and has a replacement',
  },
  interruptedGone: {
    suites: '`interruptions`',
    ms: 2 * MINUTE,
    rule: 'without faults, mcm deletes a VM with a notice of this length before the cloud does',
  },
  atRest: {
    suites: MACHINES,
    ms: HOUR,
    rule: 'after all faults, a machine is Running or Failed, or reports what it waits for',
  },
  orphanGone: { suites: MACHINES, ms: 160 * MINUTE, rule: 'a VM without a Machine is drained and deleted' },
  tokenGone: { suites: MACHINES, ms: 3 * HOUR, rule: 'the bootstrap token of a machine is deleted' },
  machinesReopened: {
    suites: MACHINES,
    ms: 200 * SECOND,
    rule: 'a watch without events is opened again, and a reconcile of all objects is complete',
  },
  reconnected: { suites: MACHINES, ms: 25 * SECOND, rule: 'a client retries after a refused connection' },
  frozen: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'a shorter outage of the API server does not freeze a controller',
  },
  thawed: {
    suites: MACHINES,
    ms: 95 * SECOND,
    rule: 'a frozen controller resumes after the API server answers again',
  },
  prompt: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'machines are created and deleted within this time while other machines are stuck',
  },
  blocked: {
    suites: MACHINES,
    ms: 260 * SECOND,
    rule: 'a drain that a disruption budget blocks writes nothing during this time',
  },
  withoutStatus: { suites: MACHINES, ms: 90 * SECOND, rule: 'a machine in deletion reports what it waits for' },
  overstay: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'a pod is deleted without a grace period only this long after the end of its grace period',
  },
  unresponsive: {
    suites: MACHINES,
    ms: 5 * MINUTE,
    rule: 'pods of a NotReady Node are deleted without eviction only after this time',
  },
  detached: {
    suites: MACHINES,
    ms: 2 * MINUTE,
    rule: 'a VM with attached volumes is deleted only this long after the end of its last pod with volumes',
  },
  orphanDrain: {
    suites: MACHINES,
    ms: 2 * HOUR,
    rule: 'pods of a VM without a Machine are deleted without eviction only after this time',
  },
  orphanConfirmed: {
    suites: MACHINES,
    ms: 5 * MINUTE,
    rule: 'a VM is deleted only this long after its Machine was lost',
  },
  outdated: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'health is not checked with data that the controller knows to be older than this',
  },
  noticed: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'without faults, a machine follows the health of its Node within this time',
  },
  tokenWithMachine: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'without faults, the bootstrap token of a machine that never joined is deleted with the machine',
  },
  slack: { suites: MACHINES, ms: SECOND, rule: 'deadlines in objects have a precision of one second' },
  healed: {
    suites: POOLS,
    ms: 4 * HOUR,
    rule: 'without faults, all nodes of a pool have its configuration and are schedulable',
  },
  poolQuiet: {
    suites: POOLS,
    ms: 15 * MINUTE,
    rule: 'if nothing changes for this time, the machine-config-controller writes nothing for another period of this length',
  },
  protected: {
    suites: '`join` with protection',
    ms: 10 * SECOND,
    rule: 'a node in use is protected from the autoscaler',
  },
} as const satisfies Readonly<Record<string, Bound>>;

const UNITS = [
  [HOUR, 'h'],
  [MINUTE, 'min'],
  [SECOND, 's'],
] as const;

/** The limit as text, in the largest unit without a remainder. */
export function boundText({ ms }: Bound): string {
  const [size, unit] = UNITS.find(([length]) => ms % length === 0) ?? [1, 'ms'];
  return `${ms / size} ${unit}`;
}
