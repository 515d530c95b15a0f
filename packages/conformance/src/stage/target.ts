import type { Alternative, DriverContext, DriverDefinition, VolumeSource } from '@mcm/core';
import type { Clock, Transport } from '@mcm/kube';

/** Each process of a controller creates its driver once, at its start. */
export type CreateDriver = (context: DriverContext) => DriverDefinition<unknown, unknown>;

/** The context in which {@link Inventory} reads the resources of a cloud. */
export interface InventoryContext extends DriverContext {
  readonly secret: Readonly<Record<string, string>>;
  readonly providerSpec: Readonly<Record<string, unknown>>;
}

/** Lists the names of all VMs, disks and network interfaces of the cluster to which the class belongs. */
export type Inventory = (context: InventoryContext) => readonly string[] | Promise<readonly string[]>;

/** A cloud against which the kit tests a driver. */
export interface World {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  /**
   * Lists the names of all resources that the machines of a class can leave behind: VMs, disks, network interfaces. If
   * `inventory` is absent, the kit uses `list` of the driver.
   */
  readonly inventory?: () => readonly string[] | Promise<readonly string[]>;
  /**
   * Makes the cloud announce the end of a machine's VM, which the cloud ends after `noticeMs`. If `interrupt` is
   * absent, the kit skips the scenarios of interruptions.
   */
  readonly interrupt?: (machineName: string, noticeMs: number) => void | Promise<void>;
  /**
   * Advances a virtual clock until `done` returns true. If `runUntil` is absent, the clock is real.
   * @throws if `done` is still false after `maxMs` of the clock's time
   */
  readonly runUntil?: (done: () => boolean, options: { readonly maxMs: number }) => Promise<unknown>;
  readonly close?: () => void | Promise<void>;
}

/** An error answer of a cloud. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The kit replaces `{message}` in the body with a text. */
  readonly body?: string | undefined;
}

/** The formats of requests and errors of a cloud, which the kit needs for its simulated errors. */
export interface Dialect {
  /**
   * Regular expression that matches requests that change something, in the form `METHOD /path\nbody`. By default,
   * `writes` is the methods POST, PUT, PATCH and DELETE.
   */
  readonly writes?: string | undefined;
  readonly throttled: HttpAnswer;
  readonly exhausted: HttpAnswer;
  readonly quota?: HttpAnswer | undefined;
  readonly unauthorized?: HttpAnswer | undefined;
}

/** A driver, and the cloud in which its tests run. */
export interface ConformanceTarget {
  readonly name: string;
  readonly createDriver: CreateDriver;
  /**
   * Opens a new or a shared cloud for each scenario. If `openCloud` is absent, the driver uses the network and the
   * clock of this machine.
   */
  readonly openCloud?: (() => World | Promise<World>) | undefined;
  /**
   * Lists the names of all resources that the machines of a class can leave behind, for a cloud on the network. An
   * `inventory` of {@link World} takes precedence.
   */
  readonly inventory?: Inventory | undefined;
  /** `provider` and `providerSpec` of a valid MachineClass. */
  readonly machineClass: {
    readonly provider?: string | undefined;
    readonly providerSpec: Readonly<Record<string, unknown>>;
  };
  /** The data of the Secret of the class, including `userData`. */
  readonly secret: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /**
   * An alternative of the class that works in the cloud. If `alternative` is absent, the kit skips the scenarios of
   * alternatives.
   */
  readonly alternative?: Alternative | undefined;
  /**
   * The provider spec of another cluster in the same account. If `otherCluster` is absent, the kit skips the scenario
   * of two clusters.
   */
  readonly otherCluster?: Readonly<Record<string, unknown>> | undefined;
  /** The ID of a volume, or null for a volume of another cloud. */
  readonly volumes?: readonly { readonly source: VolumeSource; readonly id: string | null }[] | undefined;
  /** Fields of the provider spec that the driver does not validate. */
  readonly ignoredFields?: readonly string[] | undefined;
  /** Number of machines that are created in parallel. By default, `machines` is 12. */
  readonly machines?: number | undefined;
  /**
   * Number of machines for the test of listings, so that the cloud returns more than one page. By default, `listed` is
   * 12.
   */
  readonly listed?: number | undefined;
}
