/**
 * This file describes the messages between the dashboard server and the page. All times are milliseconds since 1970.
 */

/** The levels that classify machines for users, most urgent first. */
export const LEVELS = ['failed', 'blocked', 'leaving', 'starting', 'ready'] as const;

/**
 * - `failed`: a user must act, or mcm will replace the machine (red)
 * - `blocked`: the machine waits and may need a user (amber)
 * - `leaving`: the machine is drained or deleted (gray)
 * - `starting`: the machine is created, or its Node joins (blue)
 * - `ready`: the machine runs (green)
 */
export type Level = (typeof LEVELS)[number];

/** A machine in the message to the page. */
export interface MachineRow {
  /** The key of the machine: `NAMESPACE/NAME`. */
  readonly key: string;
  readonly uid: string;
  readonly ns: string;
  readonly name: string;
  /** If a machine has no deployment, `deployment` is empty. */
  readonly deployment: string;
  readonly set: string;
  readonly zone: string;
  readonly cls: string;
  readonly node: string;
  readonly phase: string;
  readonly level: Level;
  readonly stage: Stage;
  /** The reason why the machine waits. For a machine that runs, `why` is empty. */
  readonly why: string;
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
  readonly total: number;
  readonly updated: number;
  readonly available: number;
  readonly old: number;
  readonly state: RolloutState;
  /**
   * The problem of the deployment, or the reason why the deployment waits. If the deployment has neither, `why` is
   * empty.
   */
  readonly why: string;
  /**
   * A text about the zones in which mcm creates no machines. If the deployment uses all zones, `closedZones` is empty.
   */
  readonly closedZones: string;
  readonly since: number;
}

/** A running drain of a node. */
export interface DrainRow {
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly node: string;
  /** The number of pods that must still leave the node. If the pods of the node are unknown, `left` is -1. */
  readonly left: number;
  readonly pods: number;
  /** The reasons why the drain makes no progress. If the drain makes progress, `blockers` is empty. */
  readonly blockers: readonly string[];
  /**
   * `blocked`: something blocks the drain. `failed`: the drain has been blocked for a long time. `leaving`: the drain
   * makes progress.
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
  /** If no process holds the Lease, or the holder is unknown, `holder` is empty. */
  readonly holder: string;
  /**
   * The time of the controller's last activity, or of the first change that it has not processed. If the time is
   * unknown, `since` is 0.
   */
  readonly since: number;
  readonly level: Level;
  /** For a working controller, `why` is empty. */
  readonly why: string;
  /** One sentence for each task that is not done while the controller is stopped. */
  readonly effects: readonly string[];
}

/** A cluster of a fleet. */
export interface ClusterRow {
  /** The name of the cluster in the fleet: its namespace in the seed, or its ClusterProfile. */
  readonly key: string;
  /** The object of Cluster API that defines the cluster, such as `cluster/a`. Other clusters have no such object. */
  readonly object: string;
  /** The region of the cluster. If its object has no label with the region, `region` is empty. */
  readonly region: string;
  /** Whether the object that defines the cluster is being deleted. */
  readonly deleting: boolean;
  /**
   * A sentence that explains why no replica serves the cluster. If a replica serves the cluster, `problem` is empty.
   */
  readonly problem: string;
  /** Whether the machine objects are in the cluster itself. The dashboard does not read these objects. */
  readonly elsewhere: boolean;
  /**
   * A sentence about the live replicas that cannot reach the API server of the cluster. If all replicas reach the API
   * server, `unreachable` is empty.
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

/** The changed and the removed rows of a table. */
export interface Delta<Row> {
  readonly put?: readonly Row[] | undefined;
  readonly drop?: readonly string[] | undefined;
}

/** The rows in the event stream, by the name of their table. */
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

/** A message of the event stream to the page. */
export interface Frame {
  readonly at: number;
  readonly first?: First;
  readonly tables: { readonly [Name in TableName]?: Delta<Tables[Name]> };
  /**
   * Sentences that tell the user which data is missing or outdated. If `gaps` is undefined, the sentences are
   * unchanged.
   */
  readonly gaps?: readonly string[] | undefined;
  readonly trend?: readonly TrendSample[] | undefined;
}

/** The fields that only the first message of an event stream contains. */
export interface First {
  /** An empty `namespace` means all namespaces. */
  readonly namespace: string;
  /** An empty `fleet` means that the server does not show clusters. */
  readonly fleet: string;
  /** Whether the user has logged in. */
  readonly login: boolean;
  readonly trend: readonly TrendSample[];
}

/**
 * A sample of the trend: `[time, failed, blocked, leaving, starting, ready]`, with the number of machines at each of
 * {@link LEVELS}.
 */
export type TrendSample = readonly number[];

/** A period in the life of a machine. A period ends when the next one starts. */
export interface Segment {
  readonly from: number;
  readonly stage: Stage;
  readonly level: Level;
  readonly why: string;
}

/** A moment in the life of a machine, such as a failure. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** The life of a machine as segments and points in time. */
export interface MachineLife {
  readonly key: string;
  readonly created: number;
  /** The time at which the machine disappeared. If the machine still exists, `gone` is 0. */
  readonly gone: number;
  readonly segments: readonly Segment[];
  readonly marks: readonly Mark[];
}

/** A sample of a drain: `[time, remaining pods]`, and the reasons that blocked the drain at this time. */
export interface DrainSample {
  readonly at: number;
  readonly left: number;
  readonly blockers: readonly string[];
}

/** The response to a request for `/api/machines/NAMESPACE/NAME`. */
export interface MachineDetail {
  /** If the dashboard has never seen the machine, `row` is undefined. */
  readonly row: MachineRow | undefined;
  readonly exists: boolean;
  readonly life: MachineLife | undefined;
  readonly drain: readonly DrainSample[];
  /** The output of `mcm explain machine/NAME`, or the reason why the output is missing. */
  readonly explain: readonly string[];
  readonly providerID: string;
  /** If the replacement is unknown, `successor` is empty. */
  readonly successor: string;
  /** If the replaced machine is unknown, `predecessor` is empty. */
  readonly predecessor: string;
  readonly events: readonly EventRow[];
}

/** A sample of a rollout: `[time, desired, updated, available, all]`. */
export type RolloutSample = readonly number[];

/** The response to a request for `/api/deployments/NAMESPACE/NAME`. */
export interface DeploymentDetail {
  readonly row: DeploymentRow | undefined;
  readonly samples: readonly RolloutSample[];
  readonly lives: readonly MachineLife[];
  readonly explain: readonly string[];
  readonly hints: readonly string[];
  readonly next: string;
  readonly events: readonly EventRow[];
}
