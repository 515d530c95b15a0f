/** The data between the server and the page. All times are milliseconds since 1970. */

/** The levels of a machine for users, most urgent first. */
export const LEVELS = ['failed', 'blocked', 'leaving', 'starting', 'ready'] as const;

/**
 * - `failed`: a user must act, or mcm will replace the machine (red)
 * - `blocked`: the machine waits and may need a user (amber)
 * - `leaving`: the machine is drained or deleted (gray)
 * - `starting`: the machine is created, or its Node joins (blue)
 * - `ready`: the machine runs (green)
 */
export type Level = (typeof LEVELS)[number];

/** The data of a machine for its tile. */
export interface MachineRow {
  /** The namespace and the name: `NAMESPACE/NAME`. */
  readonly key: string;
  readonly uid: string;
  readonly ns: string;
  readonly name: string;
  /**
   * The name of its MachineDeployment. If the machine has no deployment, set, zone, class or node, the field is empty.
   */
  readonly deployment: string;
  readonly set: string;
  readonly zone: string;
  readonly cls: string;
  readonly node: string;
  readonly phase: string;
  readonly level: Level;
  /** The current step in the life of the machine: see {@link STAGES}. */
  readonly stage: Stage;
  /** The reason why the machine waits. `why` is empty for a machine that runs. */
  readonly why: string;
  /** The time since which the machine has its level. */
  readonly since: number;
  readonly created: number;
}

/** The steps in the life of a machine, in order. */
export const STAGES = ['vm', 'join', 'run', 'drain', 'delete', 'gone'] as const;
/** One of {@link STAGES}. */
export type Stage = (typeof STAGES)[number];

/** The states of a rollout, most urgent first. */
export const ROLLOUT_STATES = [
  'failed',
  'blocked',
  'deleting',
  'rolling',
  'scaling',
  'waiting',
  'paused',
  'complete',
] as const;
/** One of {@link ROLLOUT_STATES}. */
export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** A MachineDeployment with the numbers of its machines. */
export interface DeploymentRow {
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly cls: string;
  readonly desired: number;
  /** All machines of the deployment. */
  readonly total: number;
  readonly updated: number;
  readonly available: number;
  /** The number of machines with an older template. */
  readonly old: number;
  readonly state: RolloutState;
  /** The problem as a sentence. `why` is empty if the deployment has no problem. */
  readonly why: string;
  /** The zones that get no new machines, as a sentence. `closedZones` is empty if all zones get machines. */
  readonly closedZones: string;
  /** The time since which the deployment has its state. */
  readonly since: number;
}

/** A drain in progress. */
export interface DrainRow {
  /** The key of the machine. */
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly node: string;
  /** The number of pods that must leave the node, or -1 if the pods are not known. */
  readonly left: number;
  /** The highest number of pods during the drain. */
  readonly pods: number;
  /** The reasons that block the drain. `blockers` is empty if the drain is not blocked. */
  readonly blockers: readonly string[];
  /**
   * `blocked` means that something blocks the drain. `failed` means that the drain is blocked for a long time.
   * `leaving` means that the drain continues.
   */
  readonly level: Extract<Level, 'blocked' | 'failed' | 'leaving'>;
  readonly since: number;
}

/** A MachineClass. */
export interface ClassRow {
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly provider: string;
  readonly machineType: string;
  readonly zone: string;
}

/** A MachineConfigPool. */
export interface PoolRow {
  readonly key: string;
  readonly name: string;
  readonly nodes: number;
  readonly updated: number;
  readonly ready: number;
  readonly degraded: number;
  readonly paused: boolean;
  readonly level: Level;
  readonly why: string;
}

/**
 * - `acts`: a process renews the Lease of the controller, so the controller works
 * - `stopped`: no process of the controller can act
 * - `behind`: a process renews the Lease but does not process changed objects
 * - `unknown`: the Lease does not exist, or mcm may not read it
 */
export type ControllerState = 'acts' | 'stopped' | 'behind' | 'unknown';

/** A controller of a namespace. */
export interface ControllerRow {
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly state: ControllerState;
  /** The process that holds the Lease. `holder` is empty if no process holds the Lease, or if the holder is unknown. */
  readonly holder: string;
  /**
   * The time of the last activity, or of the first change that the controller did not process. The value 0 means that
   * the time is unknown.
   */
  readonly since: number;
  readonly level: Level;
  /** The evidence that the controller is not working. `why` is empty for a working controller. */
  readonly why: string;
  /** The effects of a stopped controller, one sentence each. */
  readonly effects: readonly string[];
}

/** A cluster of a fleet of clusters: a namespace of the seed. */
export interface ClusterRow {
  /** The name of the namespace. */
  readonly key: string;
  /** `region` is empty if the namespace has no label with its region. */
  readonly region: string;
  /** Whether the namespace is being deleted. */
  readonly deleting: boolean;
  /**
   * The live replicas that the API server of the cluster does not answer, as a sentence. The text is empty if all
   * replicas get answers.
   */
  readonly unreachable: string;
}

/** An event of an object of the fleet. */
export interface EventRow {
  readonly key: string;
  readonly at: number;
  readonly ns: string;
  readonly warning: boolean;
  readonly reason: string;
  readonly kind: string;
  readonly name: string;
  readonly message: string;
  readonly count: number;
}

/** Changed and removed rows of a table. */
export interface Delta<Row> {
  readonly put?: readonly Row[] | undefined;
  readonly drop?: readonly string[] | undefined;
}

/** The rows of the stream, by the name of their table. */
export interface Tables {
  readonly machines: MachineRow;
  readonly deployments: DeploymentRow;
  readonly drains: DrainRow;
  readonly classes: ClassRow;
  readonly pools: PoolRow;
  readonly controllers: ControllerRow;
  readonly clusters: ClusterRow;
  readonly events: EventRow;
}
/** The name of a table in a {@link Frame}. */
export type TableName = keyof Tables;

/** A message of the event stream to the page. The first message of a connection contains all rows. */
export interface Frame {
  readonly at: number;
  readonly first?: First;
  readonly tables: { readonly [Name in TableName]?: Delta<Tables[Name]> };
  /** Sentences about data that is missing or outdated. If `gaps` is absent, the sentences are unchanged. */
  readonly gaps?: readonly string[] | undefined;
  /** New samples of {@link First.trend}. */
  readonly trend?: readonly TrendSample[] | undefined;
}

/** The part of the first message that does not change. */
export interface First {
  /** The watched namespace. An empty `namespace` means all namespaces. */
  readonly namespace: string;
  /** The labels of the clusters of a fleet. An empty `fleet` means that the server does not show clusters. */
  readonly fleet: string;
  /** Whether the user logged in. If the user logged in, the page offers to end the session. */
  readonly login: boolean;
  readonly trend: readonly TrendSample[];
}

/** `[time, failed, blocked, leaving, starting, ready]`: the number of machines at each of {@link LEVELS}. */
export type TrendSample = readonly number[];

/** A period in a machine's life. A segment ends at the start of the next segment. */
export interface Segment {
  readonly from: number;
  readonly stage: Stage;
  readonly level: Level;
  readonly why: string;
}

/** A point in the life of a machine. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** The life of a machine as segments and points in time. */
export interface MachineLife {
  readonly key: string;
  readonly created: number;
  /** The time of the deletion, or 0 if the machine still exists. */
  readonly gone: number;
  readonly segments: readonly Segment[];
  readonly marks: readonly Mark[];
}

/** `[time, remaining pods]`, and the reasons that blocked the drain at the time. */
export interface DrainSample {
  readonly at: number;
  readonly left: number;
  readonly blockers: readonly string[];
}

/** The response for `/api/machines/NAMESPACE/NAME`. */
export interface MachineDetail {
  /** The last row of the machine. `row` is undefined if the dashboard has never received the machine. */
  readonly row: MachineRow | undefined;
  readonly exists: boolean;
  readonly life: MachineLife | undefined;
  readonly drain: readonly DrainSample[];
  /** The output of `mcm explain machine/NAME`, or the reason why it is missing. */
  readonly explain: readonly string[];
  readonly providerID: string;
  /**
   * The key of the machine that replaces the machine of the row. `successor` is empty if the replacement is unknown.
   */
  readonly successor: string;
  /**
   * The key of the machine that was replaced by the machine of the row. `predecessor` is empty if the replaced machine
   * is unknown.
   */
  readonly predecessor: string;
  readonly events: readonly EventRow[];
}

/** `[time, desired, updated, available, all]`. */
export type RolloutSample = readonly number[];

/** The response for `/api/deployments/NAMESPACE/NAME`. */
export interface DeploymentDetail {
  readonly row: DeploymentRow | undefined;
  readonly samples: readonly RolloutSample[];
  /** The lives of the deployment's machines, oldest first. */
  readonly lives: readonly MachineLife[];
  readonly explain: readonly string[];
  readonly hints: readonly string[];
  readonly next: string;
  readonly events: readonly EventRow[];
}
