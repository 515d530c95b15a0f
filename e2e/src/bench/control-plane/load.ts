import type { LoadTarget } from './load-connection.ts';

export interface LoadPlan {
  readonly nodes: number;
  readonly pods: number;
  readonly leasesPerSecond: number;
  readonly podsPerSecond: number;
  readonly seconds: number;
}

export interface LoadOrder {
  readonly target: LoadTarget;
  readonly plan: LoadPlan;
}

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
      readonly seconds: number;
      readonly all: Latencies;
      readonly byKind: Readonly<Record<string, Latencies>>;
    };
