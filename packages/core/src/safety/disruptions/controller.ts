import {
  again,
  type ConfigMap,
  type Controller,
  configMaps,
  createController,
  done,
  ignoreNotFound,
  keyOf,
  type Outcome,
  type ResourceClient,
} from '@mcm/kube';
import { type ControllerContext, controllerParts } from '../../control/caches.ts';
import type { DisruptionReport } from '../../disruption/report/report.ts';
import { openSince, rowText } from '../../disruption/report/rows.ts';

/** The name of the ConfigMap with the disruptions, in the namespace of the machines. */
export const DISRUPTIONS = 'machine-disruptions';

const KEY = 'report';

const PERIOD_MS = 10_000;

/** mcm delays a write by this time, because many machines can change together. */
const SETTLE_MS = 1_000;

const START_MS = 60_000;

/** Writes the disruptions to a ConfigMap. A write of the disruptions contains only the rows that changed. */
class DisruptionWriter {
  readonly #context: ControllerContext;
  readonly #report: DisruptionReport;
  readonly #client: ResourceClient<ConfigMap>;
  /** The ConfigMap after the last read or write, or undefined after a failed write. */
  #stored: Stored | undefined;
  #wroteAt: number | undefined;
  #startedAt: number | undefined;
  #complete = false;

  constructor(context: ControllerContext, report: DisruptionReport) {
    this.#context = context;
    this.#report = report;
    this.#client = context.client.resource(configMaps, context.namespace);
  }

  readonly reconcile = async (_key: string, signal: AbortSignal): Promise<Outcome> => {
    const { clock } = this.#context;
    if (!this.#isComplete()) return again(SETTLE_MS);
    const waitMs = this.#wroteAt === undefined ? 0 : this.#wroteAt + PERIOD_MS - clock.monotonic();
    if (waitMs > 0) return again(waitMs);
    this.#stored ??= storedOf(await ignoreNotFound(this.#client.get(DISRUPTIONS, { signal })));
    const { data } = this.#stored;
    const now = clock.now();
    const { rows, lookAgainAt } = this.#report.rows(now);
    const wanted = new Map(
      [...rows].map(([key, row]) => [key, rowText(row, openSince(data.get(key)) ?? now.toISOString())]),
    );
    const changes = changesOf(data, wanted);
    if (changes !== undefined) {
      this.#wroteAt = clock.monotonic();
      await this.#write(this.#stored, changes, wanted, signal);
    }
    return lookAgainAt ? again(Math.max(lookAgainAt.getTime() - now.getTime(), PERIOD_MS)) : done;
  };

  /**
   * Returns true if the manager has decided about all deployments, or if the wait has timed out. An earlier write would
   * remove rows, and would lose the times at which circuit breakers opened.
   */
  #isComplete(): boolean {
    if (this.#complete) return true;
    const { clock, deployments } = this.#context;
    this.#startedAt ??= clock.monotonic();
    const open = deployments.store
      .list()
      .some((one) => one.metadata.deletionTimestamp === undefined && !this.#report.knows(keyOf(one)));
    this.#complete = !open || clock.monotonic() - this.#startedAt >= START_MS;
    return this.#complete;
  }

  /** The write of the rows fails if the ConfigMap has changed since it was read. */
  async #write(
    { metadata }: Stored,
    changes: Readonly<Record<string, string | null>>,
    wanted: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#stored = undefined;
    if (metadata) {
      const { uid, resourceVersion } = metadata;
      const body = { metadata: { uid, resourceVersion }, data: changes };
      this.#stored = storedOf(await this.#client.patch(DISRUPTIONS, { type: 'merge', body }, { signal }));
      return;
    }
    const draft = {
      metadata: { name: DISRUPTIONS, namespace: this.#context.namespace },
      data: Object.fromEntries(wanted),
    };
    this.#stored = storedOf(await this.#client.create(draft, { signal }));
  }
}

interface Stored {
  readonly metadata: ConfigMap['metadata'] | undefined;
  readonly data: ReadonlyMap<string, string>;
}

const storedOf = (object: ConfigMap | undefined): Stored => ({
  metadata: object?.metadata,
  data: new Map(Object.entries(object?.data ?? {})),
});

/** Returns the rows to write, in which null removes a row, or undefined if no row has changed. */
function changesOf(
  stored: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): Readonly<Record<string, string | null>> | undefined {
  const changes: Record<string, string | null> = {};
  for (const [key, text] of wanted) if (stored.get(key) !== text) changes[key] = text;
  for (const key of stored.keys()) if (!wanted.has(key)) changes[key] = null;
  return Object.keys(changes).length > 0 ? changes : undefined;
}

/** Creates the controller that writes the disruptions of the namespace. */
export function createDisruptionController(context: ControllerContext, report: DisruptionReport): Controller {
  const writer = new DisruptionWriter(context, report);
  const controller = createController({
    name: 'disruption-report',
    concurrency: 1,
    reconcile: writer.reconcile,
    ...controllerParts(context),
  });
  // The controller watches these caches only to wait until they are complete.
  controller.watch(context.machines, () => []);
  controller.watch(context.deployments, () => []);
  report.onChange(() => controller.enqueue(KEY, SETTLE_MS));
  // In a namespace without machines, no change of an object would start the first write.
  controller.enqueue(KEY, SETTLE_MS);
  return controller;
}
