import type { Registry } from 'prom-client';

/** Label values of one series; a label that is left out is empty. */
export type MeterLabels = Readonly<Record<string, string>>;

/** One series as it is now. */
export interface Sample {
  readonly labels?: MeterLabels;
  readonly value: number;
}

/** What a metric is called, what it says and by what it is split. */
export interface MeterName {
  /** Whole name, prefix included. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Metrics of one's own, without a word of the library that prints them. */
export interface Meters {
  /** A gauge whose series are read when it is scraped; a series that is no longer told is gone. */
  observed(meter: MeterName, samples: () => Iterable<Sample>): void;
  /** A counter without labels that is read when it is scraped. */
  counted(meter: MeterName, value: () => number): void;
  /** A gauge that keeps what it was last set to. */
  gauge(meter: MeterName): (value: number, labels?: MeterLabels) => void;
  /** Counts up by one a call. */
  counter(meter: MeterName): (labels?: MeterLabels) => void;
  /** @param buckets Upper bounds; absent: 5 ms to 10 s, as Go's client. */
  histogram(meter: MeterName, buckets?: readonly number[]): (value: number, labels?: MeterLabels) => void;
}

/** Go's client_golang DefBuckets, in seconds. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Meters of a registry. A name that is there already is refused by the registry. */
export function createMeters({ Counter, Gauge, Histogram }: typeof import('prom-client'), registry: Registry): Meters {
  const config = ({ name, help, labels = [] }: MeterName) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    observed: (meter, samples) => {
      new Gauge({
        ...config(meter),
        collect() {
          this.reset();
          for (const { labels = {}, value } of samples()) this.set(labels, value);
        },
      });
    },
    counted: (meter, value) => {
      new Counter({
        ...config(meter),
        collect() {
          this.reset();
          this.inc(value());
        },
      });
    },
    gauge: (meter) => {
      const gauge = new Gauge(config(meter));
      return (value, labels = {}) => gauge.set(labels, value);
    },
    counter: (meter) => {
      const counter = new Counter(config(meter));
      return (labels = {}) => counter.inc(labels);
    },
    histogram: (meter, buckets = DEFAULT_BUCKETS) => {
      const histogram = new Histogram({ ...config(meter), buckets: [...buckets] });
      return (value, labels = {}) => histogram.observe(labels, value);
    },
  };
}
