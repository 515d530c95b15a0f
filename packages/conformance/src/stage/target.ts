import type { DriverContext, DriverDefinition, VolumeSource } from '@mcm/core';
import type { Clock, Transport } from '@mcm/kube';

/** Makes a driver, as a process does when it starts. */
export type CreateDriver = (context: DriverContext) => DriverDefinition<unknown, unknown>;

/** The parameters of an inventory. */
export interface InventoryContext extends DriverContext {
  readonly secret: Readonly<Record<string, string>>;
  readonly providerSpec: Readonly<Record<string, unknown>>;
}

/** Lists the names of all VMs, disks and network interfaces of the class's cluster. */
export type Inventory = (context: InventoryContext) => readonly string[] | Promise<readonly string[]>;

/** A cloud to prove a driver against. */
export interface World {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /** Names of all that a class's machines could leave behind: VMs, disks, network interfaces. Absent: the result of `list` of the driver. */
  readonly inventory?: () => readonly string[] | Promise<readonly string[]>;
  /**
   * Lets work continue until `done` holds, on a manual clock; absent: real time.
   * @throws when it does not within `maxMs` of the clock's time
   */
  readonly runUntil?: (done: () => boolean, options: { readonly maxMs: number }) => Promise<unknown>;
  readonly close?: () => void | Promise<void>;
}

/** How a cloud says no. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `{message}` in it represents a text, which the kit writes. */
  readonly body?: string | undefined;
}

/** Properties of a cloud that the kit needs. */
export interface Dialect {
  /** Regular expression over `METHOD /path\nbody` of requests that change something; default POST, PUT, PATCH, DELETE. */
  readonly writes?: string | undefined;
  /** Too many requests. */
  readonly throttled: HttpAnswer;
  /** No capacity for a VM. */
  readonly exhausted: HttpAnswer;
  /** No quota for a VM. */
  readonly quota?: HttpAnswer | undefined;
  /** Credentials refused. */
  readonly unauthorized?: HttpAnswer | undefined;
}

/** A driver with the cloud that the suite may use. */
export interface ConformanceTarget {
  readonly name: string;
  readonly createDriver: CreateDriver;
  /** A fresh cloud for each scenario, or the same one again and again. Absent: the network and the clock of this machine. */
  readonly openCloud?: (() => World | Promise<World>) | undefined;
  /** Names of everything that the class's machines can leave behind, also over the network. The cloud's own inventory takes precedence. */
  readonly inventory?: Inventory | undefined;
  /** `provider` and `providerSpec` of a MachineClass that works. */
  readonly machineClass: {
    readonly provider?: string | undefined;
    readonly providerSpec: Readonly<Record<string, unknown>>;
  };
  /** The Secret's keys and values, `userData` among them. */
  readonly secret: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** Provider spec of another cluster in the same account. Absent: the scenario is skipped. */
  readonly otherCluster?: Readonly<Record<string, unknown>> | undefined;
  /** Volumes with their ids in the cloud; null: none of this cloud's. */
  readonly volumes?: readonly { readonly source: VolumeSource; readonly id: string | null }[] | undefined;
  /** Fields of the provider spec that the driver does not look at. */
  readonly ignoredFields?: readonly string[] | undefined;
  /** Machines made at once; default 12. */
  readonly machines?: number | undefined;
  /** Machines that the cloud tells on more than one page; default 12. */
  readonly listed?: number | undefined;
}
