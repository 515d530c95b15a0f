import type { Registry } from 'prom-client';

/** The labels of a time series. */
export type MeterLabels = Readonly<Record<string, string>>;

/** The current value of one time series. */
export interface Sample {
  readonly labels?: MeterLabels;
  readonly value: number;
}

/** Name, help and labels of a metric. */
export interface MeterName {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Creates metrics without types of the library prom-client. */
export interface Meters {
  /** Returns the time series of a metric at each scrape; the registry removes a missing time series. */
  observed(meter: MeterName, samples: () => Iterable<Sample>): void;
  /** Creates a counter without labels. */
  counted(meter: MeterName, value: () => number): void;
  gauge(meter: MeterName): (value: number, labels?: MeterLabels) => void;
  counter(meter: MeterName): (labels?: MeterLabels) => void;
  /** @param buckets Upper bounds (default: 5 ms to 10 s, as in client_golang) */
  histogram(meter: MeterName, buckets?: readonly number[]): (value: number, labels?: MeterLabels) => void;
}

/** The default bucket bounds of Go's client_golang, in seconds. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates meters for a registry. */
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
