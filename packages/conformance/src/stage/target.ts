import type { Alternative, DriverContext, DriverDefinition, VolumeSource } from '@mcm/core';
import type { Clock, Transport } from '@mcm/kube';

/** Creates a driver. Each process of a controller creates its driver once, when it starts. */
export type CreateDriver = (context: DriverContext) => DriverDefinition<unknown, unknown>;

/** The context in which {@link Inventory} reads the resources of the cloud. */
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
   * Lists the names of all resources that the machines of a class may leave behind: VMs, disks, network interfaces.
   * Without `inventory`, the kit uses `list` of the driver.
   */
  readonly inventory?: () => readonly string[] | Promise<readonly string[]>;
  /**
   * Announces the end of a machine's VM. The cloud ends the VM after `noticeMs`. Without `interrupt`, the kit skips the
   * scenarios of interruptions.
   */
  readonly interrupt?: (machineName: string, noticeMs: number) => void | Promise<void>;
  /**
   * Advances a virtual clock until `done` returns true. Without `runUntil`, the clock is real.
   * @throws if `done` is still false after `maxMs` of the clock's time
   */
  readonly runUntil?: (done: () => boolean, options: { readonly maxMs: number }) => Promise<unknown>;
  readonly close?: () => void | Promise<void>;
}

/** An error response of a cloud. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The kit replaces `{message}` in the body with a text. */
  readonly body?: string | undefined;
}

/** The formats of requests and errors of a cloud. */
export interface Dialect {
  /**
   * The kit formats a request as `METHOD /path`, a line break and the body. By default, the methods POST, PUT, PATCH
   * and DELETE match `writes`.
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
   * Opens a new or a shared cloud for each scenario. Without `openCloud`, the driver uses the real network and clock.
   */
  readonly openCloud?: (() => World | Promise<World>) | undefined;
  /**
   * Lists the names of all resources that the machines of a class may leave behind, for a cloud on the network. If
   * {@link World} has an `inventory`, it takes precedence.
   */
  readonly inventory?: Inventory | undefined;
  readonly machineClass: {
    readonly provider?: string | undefined;
    readonly providerSpec: Readonly<Record<string, unknown>>;
  };
  readonly secret: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  /** Without `alternative`, the kit skips the scenarios of alternatives. */
  readonly alternative?: Alternative | undefined;
  /** Without `otherCluster`, the kit skips the scenario of two clusters. */
  readonly otherCluster?: Readonly<Record<string, unknown>> | undefined;
  readonly volumes?: readonly { readonly source: VolumeSource; readonly id: string | null }[] | undefined;
  readonly ignoredFields?: readonly string[] | undefined;
  readonly machines?: number | undefined;
  readonly listed?: number | undefined;
}
