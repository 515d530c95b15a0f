import type { LoadTarget } from './load-connection.ts';

/** The size of the cluster and the rates of the load. */
export interface LoadPlan {
  readonly nodes: number;
  readonly pods: number;
  readonly leasesPerSecond: number;
  /** The number of pods that are created per second. The same number of pods is bound to nodes. */
  readonly podsPerSecond: number;
  readonly seconds: number;
}

export interface LoadOrder {
  readonly target: LoadTarget;
  readonly plan: LoadPlan;
}

/** The latencies of one type of request in milliseconds. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** A report of the load generator: the cluster is full, or the measurement has ended. */
export type LoadReport =
  | { readonly filled: true; readonly seconds: number }
  | {
      readonly filled: false;
      /** The number of seconds from the first request to the last response. */
      readonly seconds: number;
      readonly all: Latencies;
      readonly byKind: Readonly<Record<string, Latencies>>;
    };
