import type { Alternative, DriverContext, DriverDefinition, VolumeSource } from '@mcm/core';
import type { Clock, Transport } from '@mcm/kube';

/** Creates a driver. A process does this when it starts. */
export type CreateDriver = (context: DriverContext) => DriverDefinition<unknown, unknown>;

/** The context in which {@link Inventory} reads the resources of a cloud. */
export interface InventoryContext extends DriverContext {
  readonly secret: Readonly<Record<string, string>>;
  readonly providerSpec: Readonly<Record<string, unknown>>;
}

/** Lists the names of all VMs, disks and network interfaces in the cluster of the class. */
export type Inventory = (context: InventoryContext) => readonly string[] | Promise<readonly string[]>;

/** A cloud against which the kit tests a driver. */
export interface World {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /**
   * Names of all resources that the machines of a class can leave behind: VMs, disks, network interfaces. Absent: the
   * driver's `list` is used.
   */
  readonly inventory?: () => readonly string[] | Promise<readonly string[]>;
  /**
   * Lets the cloud announce that it ends the VM of a machine in `noticeMs`. Absent: the scenarios of interruptions are
   * skipped.
   */
  readonly interrupt?: (machineName: string, noticeMs: number) => void | Promise<void>;
  /**
   * Advances a virtual clock until `done` returns true. Absent: the clock is the real one.
   * @throws if `done` is still false after `maxMs` of the clock's time
   */
  readonly runUntil?: (done: () => boolean, options: { readonly maxMs: number }) => Promise<unknown>;
  readonly close?: () => void | Promise<void>;
}

/** An error answer of a cloud. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The kit replaces `{message}` in the body by a text. */
  readonly body?: string | undefined;
}

/** The form of the requests and errors of a cloud, which the kit simulates. */
export interface Dialect {
  /**
   * Regular expression that finds requests that change something, in the text `METHOD /path\nbody`. Default: the methods
   * POST, PUT, PATCH and DELETE.
   */
  readonly writes?: string | undefined;
  /** Answer for too many requests. */
  readonly throttled: HttpAnswer;
  /** Answer if the cloud has no capacity for a VM. */
  readonly exhausted: HttpAnswer;
  /** Answer if the quota does not allow another VM. */
  readonly quota?: HttpAnswer | undefined;
  /** Answer for invalid credentials. */
  readonly unauthorized?: HttpAnswer | undefined;
}

/** A driver, and the cloud in which its tests run. */
export interface ConformanceTarget {
  readonly name: string;
  readonly createDriver: CreateDriver;
  /**
   * Opens a cloud for each scenario: a new one, or the same one each time. Absent: the network and the clock of this
   * machine.
   */
  readonly openCloud?: (() => World | Promise<World>) | undefined;
  /**
   * Names of all resources that the machines of a class can leave behind, for a cloud on the network. An inventory of {@link
   * World} takes precedence.
   */
  readonly inventory?: Inventory | undefined;
  /** `provider` and `providerSpec` of a valid MachineClass. */
  readonly machineClass: {
    readonly provider?: string | undefined;
    readonly providerSpec: Readonly<Record<string, unknown>>;
  };
  /** The keys and values of the Secret, including `userData`. */
  readonly secret: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** An alternative of the class that works in the cloud. Absent: the scenario is skipped. */
  readonly alternative?: Alternative | undefined;
  /** Provider spec of another cluster in the same account. Absent: the scenario is skipped. */
  readonly otherCluster?: Readonly<Record<string, unknown>> | undefined;
  /** Volumes with their IDs in the cloud. The ID is null for a volume that does not belong to this cloud. */
  readonly volumes?: readonly { readonly source: VolumeSource; readonly id: string | null }[] | undefined;
  /** Fields of the provider spec that the driver does not validate. */
  readonly ignoredFields?: readonly string[] | undefined;
  /** Number of machines that are created in parallel; default 12. */
  readonly machines?: number | undefined;
  /** Number of machines that the cloud lists on more than one page; default 12. */
  readonly listed?: number | undefined;
}
