import {
  type Clock,
  type ConfigMap,
  type Controller,
  configMaps,
  createController,
  done,
  ignoreNotFound,
  type KubeClient,
  type Logger,
  type QueueMetrics,
  type Random,
} from '@mcm/kube';
import type { VolumePace } from './volume-pace.ts';

/** The name of the ConfigMap with the learned limits of moving volumes. */
const VOLUME_LIMITS = 'machine-volume-limits';

const KEY = 'limits';

/** The limits can change with each detached volume, so the process writes the limits after a delay. */
const DELAY_MS = 60_000;

interface StoreOptions {
  readonly control: KubeClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly queueMetrics?: QueueMetrics | undefined;
}

/** CSI drivers have DNS names, which are valid keys of a ConfigMap. */
const isKey = (driver: string): boolean => /^[-._a-zA-Z0-9]{1,253}$/.test(driver);

function limitsIn({ data = {} }: ConfigMap): ReadonlyMap<string, number> {
  const entries = Object.entries(data).filter(([, text]) => /^\d{1,6}$/.test(text));
  return new Map(entries.map(([driver, text]) => [driver, Number(text)]));
}

/**
 * Creates the controller that reads the learned limits of moving volumes at the start of the process, and stores each
 * change.
 */
export function createVolumeLimitStore(pace: VolumePace, options: StoreOptions): Controller {
  const client = options.control.resource<ConfigMap>(configMaps, options.namespace);
  let stored: ConfigMap | undefined;
  const controller: Controller = createController({
    name: 'volume-limits',
    concurrency: 1,
    clock: options.clock,
    random: options.random,
    log: options.log,
    metrics: options.queueMetrics,
    reconcile: async (_key, signal) => {
      try {
        stored ??= await ignoreNotFound(client.get(VOLUME_LIMITS, { signal }));
      } finally {
        // If mcm cannot read the stored limits, the drains start with the default limit.
        pace.load(stored ? limitsIn(stored) : new Map());
      }
      const old = stored?.data ?? {};
      const learned = [...pace.learned].filter(([driver]) => isKey(driver));
      const changes = learned.filter(([driver, limit]) => old[driver] !== String(limit));
      if (changes.length === 0) return done;
      const data = Object.fromEntries(changes.map(([driver, limit]) => [driver, String(limit)]));
      const before = stored?.metadata;
      // After a failed write, the next reconcile reads the ConfigMap again.
      stored = undefined;
      if (before === undefined) {
        const metadata = { name: VOLUME_LIMITS, namespace: options.namespace };
        stored = await client.create({ metadata, data }, { signal });
      } else {
        const { uid, resourceVersion } = before;
        const body = { metadata: { uid, resourceVersion }, data };
        stored = await client.patch(VOLUME_LIMITS, { type: 'merge', body }, { signal });
      }
      return done;
    },
  });
  pace.onChange(() => controller.enqueue(KEY, DELAY_MS));
  controller.enqueue(KEY);
  return controller;
}
