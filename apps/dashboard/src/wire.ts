/** The data between the server and the page. All times are milliseconds since 1970. */

/** The states of a machine as users see them, the most urgent first. */
export const LEVELS = ['failed', 'blocked', 'leaving', 'starting', 'ready'] as const;

/**
 * - `failed`: a user must act, or a replacement is due. Drawn red.
 * - `blocked`: it waits for something that may need a user. Drawn amber.
 * - `leaving`: it is drained or deleted. Drawn gray.
 * - `starting`: it is created, or its node joins. Drawn blue.
 * - `ready`: it runs. Drawn green.
 */
export type Level = (typeof LEVELS)[number];

/** A machine: its tile in the picture of the fleet. */
export interface MachineRow {
  /** `NAMESPACE/NAME`. */
  readonly key: string;
  readonly uid: string;
  readonly ns: string;
  readonly name: string;
  /** Name of its MachineDeployment; empty if it has none. The same for its set, zone, class and node. */
  readonly deployment: string;
  readonly set: string;
  readonly zone: string;
  readonly cls: string;
  readonly node: string;
  readonly phase: string;
  readonly level: Level;
  /** The step within its life: see {@link STAGES}. */
  readonly stage: Stage;
  /** The reason of its wait; empty for a machine that runs. */
  readonly why: string;
  /** The start of its level. */
  readonly since: number;
  readonly created: number;
}

/** The steps in the life of a machine, in order. */
export const STAGES = ['vm', 'join', 'run', 'drain', 'delete', 'gone'] as const;
/** One of {@link STAGES}. */
export type Stage = (typeof STAGES)[number];

/** The state of a rollout, the most urgent first. */
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

/** A MachineDeployment with the counts of its machines. */
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
  /** Machines with an older template. */
  readonly old: number;
  readonly state: RolloutState;
  /** The problem; empty if there is none. */
  readonly why: string;
  /** The start of its state. */
  readonly since: number;
}

/** A drain in progress. */
export interface DrainRow {
  /** The key of the machine. */
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly node: string;
  /** Pods that must leave; -1 if its pods are not known. */
  readonly left: number;
  /** The most pods that were seen. */
  readonly pods: number;
  /** The reasons that block it; empty if it continues. */
  readonly blockers: readonly string[];
  /** `blocked`: something blocks it. `failed`: it is blocked for a long time. `leaving`: it continues. */
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
 * - `acts`: a process renews its Lease.
 * - `stopped`: no process can act.
 * - `behind`: a process renews its Lease, but it does not process changed objects.
 * - `unknown`: it has no Lease, or its Lease may not be read.
 */
export type ControllerState = 'acts' | 'stopped' | 'behind' | 'unknown';

/** A controller of a namespace. */
export interface ControllerRow {
  readonly key: string;
  readonly ns: string;
  readonly name: string;
  readonly state: ControllerState;
  /** The process that holds the Lease; empty if none does, or if it is not known. */
  readonly holder: string;
  /** The last sign of activity, or the first change that it did not process; 0: not known. */
  readonly since: number;
  readonly level: Level;
  /** The evidence; empty while the controller acts. */
  readonly why: string;
  /** The effects of a stopped controller, one sentence each. */
  readonly effects: readonly string[];
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

/** A change of rows. */
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
  readonly events: EventRow;
}
/** The name of a table in a {@link Frame}. */
export type TableName = keyof Tables;

/** One message of the stream. The first message of a connection has all rows. */
export interface Frame {
  readonly at: number;
  readonly first?: First;
  readonly tables: { readonly [Name in TableName]?: Delta<Tables[Name]> };
  /** Sentences about data that is missing or outdated; absent: unchanged. */
  readonly gaps?: readonly string[] | undefined;
  /** New samples of {@link First.trend}. */
  readonly trend?: readonly TrendSample[] | undefined;
}

/** The part of the first message that does not change. */
export interface First {
  /** The namespace that is watched; empty: all. */
  readonly namespace: string;
  /** Whether the user logged in, so that the page can end the session. */
  readonly login: boolean;
  readonly trend: readonly TrendSample[];
}

/** `[time, failed, blocked, leaving, starting, ready]`: the number of machines in each of {@link LEVELS}. */
export type TrendSample = readonly number[];

/** A part of the life of a machine, from its start to the start of the next one. */
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
  /** The end of its life; 0: it exists. */
  readonly gone: number;
  readonly segments: readonly Segment[];
  readonly marks: readonly Mark[];
}

/** `[time, pods left]` with the blockers at this time. */
export interface DrainSample {
  readonly at: number;
  readonly left: number;
  readonly blockers: readonly string[];
}

/** `/api/machines/NAMESPACE/NAME`. */
export interface MachineDetail {
  /** The last row of the machine; undefined if it was not seen. */
  readonly row: MachineRow | undefined;
  readonly exists: boolean;
  readonly life: MachineLife | undefined;
  readonly drain: readonly DrainSample[];
  /** The output of `mcm explain machine/NAME`, or the reason why there is none. */
  readonly explain: readonly string[];
  readonly providerID: string;
  /** The key of the machine that was created in its place; empty if it is not known. */
  readonly successor: string;
  /** The key of the machine that it replaces; empty if it is not known. */
  readonly predecessor: string;
  readonly events: readonly EventRow[];
}

/** `[time, desired, updated, available, all]`. */
export type RolloutSample = readonly number[];

/** `/api/deployments/NAMESPACE/NAME`. */
export interface DeploymentDetail {
  readonly row: DeploymentRow | undefined;
  readonly samples: readonly RolloutSample[];
  /** The lives of its machines, oldest first. */
  readonly lives: readonly MachineLife[];
  readonly explain: readonly string[];
  readonly hints: readonly string[];
  readonly next: string;
  readonly events: readonly EventRow[];
}
