const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export interface Bound {
  readonly rule: string;
  readonly suites: string;
  readonly ms: number;
}

const FLEETS = 'fleets, `scaler`, `groups`';
const MACHINES = '`machines`';
const FLEET_MODE = '`fleet-mode`';
const POOLS = '`pools`, `join`, `config-leases`';

/** The time limits of all verifiers. */
export const BOUNDS = {
  settled: {
    suites: FLEETS,
    ms: 2 * HOUR,
    rule: 'without faults, a fleet reaches its size and class, all machines run, and no surplus resources remain',
  },
  lastWrites: {
    suites: FLEETS,
    ms: MINUTE,
    rule: 'MachineSets and the deployment have their final status after the fleet is complete',
  },
  quiet: {
    suites: 'all',
    ms: 10 * MINUTE,
    rule: 'after the fleet is complete, the controllers send no write during the time limit',
  },
  reopened: {
    suites: FLEETS,
    ms: 160 * SECOND,
    rule: 'within the time limit, the client reopens a watch that gets no events',
  },
  patience: {
    suites: FLEETS,
    ms: 20 * MINUTE,
    rule: 'a replacement without its own creation timeout counts against the disruption budget until the time limit',
  },
  offeringClosed: {
    suites: '`capacity`',
    ms: 10 * MINUTE,
    rule: 'after a refusal, mcm requests the offering again only after the time limit, with one machine at a time',
  },
  offeringPrepared: {
    suites: '`capacity`',
    ms: 5 * SECOND,
    rule: 'a call that started less than the time limit before a refusal may reach the cloud after the refusal',
  },
  interrupted: {
    suites: '`interruptions`',
    ms: 10 * SECOND,
    rule: 'without faults, mcm deletes an interrupted machine and creates a replacement',
  },
  interruptedGone: {
    suites: '`interruptions`',
    ms: 2 * MINUTE,
    rule: 'without faults, mcm deletes an interrupted VM before its deadline if the notice period is the time limit',
  },
  canaryStopped: {
    suites: '`canary`',
    ms: 5 * MINUTE,
    rule: 'without faults, the rollout stops within the time limit if the pod of a canary is not Ready',
  },
  canaryRead: {
    suites: '`canary`',
    ms: 30 * SECOND,
    rule: 'the data about the pods of canaries that the manager uses may be as old as the time limit',
  },
  bufferFollowed: {
    suites: '`buffers`',
    ms: 30 * SECOND,
    rule: 'without faults, the number of warm machines follows a change of the CapacityBuffer within the time limit',
  },
  reported: {
    suites: '`reports`',
    ms: 30 * SECOND,
    rule: 'without faults, the ConfigMap machine-disruptions changes within the time limit after a user deletes a machine',
  },
  reportPeriod: {
    suites: '`reports`',
    ms: 10 * SECOND,
    rule: 'a manager writes the ConfigMap machine-disruptions at most once during the time limit',
  },
  reportLate: {
    suites: '`reports`',
    ms: 5 * SECOND,
    rule: 'the numbers in the ConfigMap machine-disruptions are not older than the time limit',
  },
  rateRecovered: {
    suites: '`budgets`',
    ms: 2 * MINUTE,
    rule: 'after a throttled call, the rate of calls recovers within the time limit',
  },
  rateWait: {
    suites: '`budgets`',
    ms: SECOND,
    rule: 'after the rate has recovered, a call waits at most the time limit',
  },
  atRest: {
    suites: MACHINES,
    ms: HOUR,
    rule: 'after the faults have ended, a machine is Running or Failed, or reports the cause of its wait',
  },
  orphanGone: { suites: MACHINES, ms: 160 * MINUTE, rule: 'mcm drains and deletes a VM without a Machine' },
  tokenGone: { suites: MACHINES, ms: 3 * HOUR, rule: 'mcm deletes the bootstrap token of a machine' },
  machinesReopened: {
    suites: MACHINES,
    ms: 200 * SECOND,
    rule: 'within the time limit, the client reopens a watch that gets no events, and reconciles all objects',
  },
  reconnected: {
    suites: MACHINES,
    ms: 25 * SECOND,
    rule: 'a client retries within the time limit after a refused connection',
  },
  frozen: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'an outage of the API server that is shorter than the time limit does not freeze a controller',
  },
  thawed: {
    suites: MACHINES,
    ms: 95 * SECOND,
    rule: 'a frozen controller resumes within the time limit after the API server responds again',
  },
  prompt: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'mcm creates and deletes machines within the time limit while the drains of other machines are blocked',
  },
  blocked: {
    suites: MACHINES,
    ms: 260 * SECOND,
    rule: 'a drain that a disruption budget blocks sends no write during the time limit',
  },
  withoutStatus: { suites: MACHINES, ms: 90 * SECOND, rule: 'a machine in deletion reports the cause of its wait' },
  overstay: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'mcm force-deletes a pod only if the pod still exists when the time limit after its grace period has passed',
  },
  unresponsive: {
    suites: MACHINES,
    ms: 5 * MINUTE,
    rule: 'mcm deletes pods of a NotReady Node without eviction only after the time limit',
  },
  detached: {
    suites: MACHINES,
    ms: 2 * MINUTE,
    rule: 'after the last pod with volumes has stopped, mcm keeps a VM with attached volumes until the time limit',
  },
  orphanDrain: {
    suites: MACHINES,
    ms: 2 * HOUR,
    rule: 'if a VM has no Machine, mcm deletes its pods without eviction only after the time limit',
  },
  orphanConfirmed: {
    suites: MACHINES,
    ms: 5 * MINUTE,
    rule: 'if a Machine is lost, mcm keeps its VM at least until the time limit',
  },
  outdated: {
    suites: MACHINES,
    ms: 30 * SECOND,
    rule: 'the controller checks the health of machines only with data that is newer than the time limit',
  },
  noticed: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'without faults, the phase of a machine changes within the time limit after a change of its Node health',
  },
  tokenWithMachine: {
    suites: MACHINES,
    ms: 5 * SECOND,
    rule: 'without faults, when mcm deletes a machine that never joined, it deletes the bootstrap token within the time limit',
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
    rule: 'when no object has changed for the time limit, the machine-config-controller sends no write',
  },
  protected: {
    suites: '`join` with protection',
    ms: 10 * SECOND,
    rule: 'mcm protects a node that is in use from a scale-in by the cluster autoscaler',
  },
  fleetServed: {
    suites: FLEET_MODE,
    ms: 25 * SECOND,
    rule: 'if a replica exits, hangs or loses the connection to a cluster, another replica serves its clusters',
  },
  fleetUnwatched: {
    suites: FLEET_MODE,
    ms: 15 * SECOND,
    rule: 'without a seed cluster, a replica watches the Lease of a cluster for this time before it serves the cluster',
  },
  fleetReached: {
    suites: FLEET_MODE,
    ms: 2 * MINUTE,
    rule: 'after a connection fails or works again, a replica with working connections serves the cluster',
  },
  fleetSettled: {
    suites: FLEET_MODE,
    ms: 30 * MINUTE,
    rule: 'without faults, each cluster of a fleet has its machines, VMs and Nodes',
  },
} as const satisfies Readonly<Record<string, Bound>>;

const UNITS = [
  [HOUR, 'h'],
  [MINUTE, 'min'],
  [SECOND, 's'],
] as const;

export function boundText({ ms }: Bound): string {
  const [size, unit] = UNITS.find(([length]) => ms % length === 0) ?? [1, 'ms'];
  return `${ms / size} ${unit}`;
}
