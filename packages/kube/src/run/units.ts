import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import { errorText } from '../base/error-text.ts';
import { createOutageLog } from '../base/outage-log.ts';
import type { Random } from '../base/random.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { refusalOf } from '../informer/refusal.ts';
import { discoverResources } from './cluster/api-server.ts';
import type { Check } from './health/health.ts';

export interface Runnable {
  readonly synced: boolean;
  readonly closed?: boolean | undefined;
  readonly refused?: KubeError | undefined;
  readonly resource?: string;
  readonly store?: { readonly size: number };
  readonly malformed?: number;
  run(signal: AbortSignal): Promise<void>;
}

/** A kind that must exist before a unit can start. */
export interface Need {
  readonly client: KubeClient;
  readonly definition: ResourceDefinition<KubeObject>;
}

/** A group of controllers that start and stop together. */
export interface Unit {
  readonly name: string;
  readonly needs: readonly Need[];
  /** The informers of the unit. An informer that several units share runs only once. */
  readonly informers: readonly Runnable[];
  /** Informers that the unit does not need; if the API server refuses their kinds, the unit works without them. */
  readonly spares?: readonly Runnable[];
  /** Returns true if the unit currently has no work; a unit without this function always counts as busy. */
  readonly quiet?: () => boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** The units of a binary, and the dependencies of the runner. */
export interface UnitRunnerOptions {
  readonly units: readonly Unit[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * The delays between checks for missing kinds. The runner polls for missing kinds, because the discovery API cannot be
 * watched.
 */
const LOOK_AGAIN: BackoffOptions = { baseMs: 1000, maxMs: 15_000, jitter: 0.2 };

const label = ({ group, version, plural }: ResourceDefinition<KubeObject>): string =>
  group === '' ? `${plural}/${version}` : `${plural}.${group}/${version}`;

const listed = (before: string, informers: readonly Runnable[]): string => {
  const names = informers.flatMap(({ resource }) => resource ?? []).join(', ');
  return names === '' ? '' : `${before}${names}`;
};

const refusals = (informers: readonly Runnable[]): string =>
  informers.flatMap((informer) => refusalOf(informer) ?? []).join(', ');

/** Starts each unit as soon as the API server serves the unit's kinds. */
export class UnitRunner {
  readonly #options: UnitRunnerOptions;
  readonly #missing = new Map<Unit, readonly string[]>();
  readonly #started = new Set<Unit>();
  readonly #informers = new Map<Runnable, Promise<void>>();

  constructor(options: UnitRunnerOptions) {
    this.#options = options;
  }

  /** Runs the units until the signal aborts or a unit fails, and rejects with the error of the failed unit. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#options.units.map((unit) => this.#runUnit(unit, signal)));
    await Promise.all(this.#informers.values());
  }

  cacheSizes(): ReadonlyMap<string, number> {
    return this.#sums(({ store }) => store?.size ?? 0);
  }

  malformed(): ReadonlyMap<string, number> {
    return this.#sums(({ malformed }) => malformed ?? 0);
  }

  #sums(of: (informer: Runnable) => number): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const informer of this.#informers.keys()) {
      const { resource } = informer;
      if (resource !== undefined) sums.set(resource, (sums.get(resource) ?? 0) + of(informer));
    }
    return sums;
  }

  checks(): Check[] {
    const some = this.#started.size > 0;
    return this.#options.units.map((unit) => this.#check(unit, some));
  }

  #check(unit: Unit, some: boolean): Check {
    const name = `controller/${unit.name}`;
    const missing = this.#missing.get(unit) ?? [];
    if (!this.#started.has(unit)) {
      const detail = missing.length > 0 ? `waiting for ${missing.join(', ')} to be installed` : 'discovering its kinds';
      return { name, ok: some && missing.length > 0, detail };
    }
    const refused = unit.informers.filter((informer) => informer.refused !== undefined);
    const filling = unit.informers.filter(
      (informer) => !informer.synced && !informer.closed && !refused.includes(informer),
    );
    const lacking = refused.filter((informer) => !unit.spares?.includes(informer));
    const parts = [
      ...(filling.length > 0 ? [`filling its caches${listed(': ', filling)}`] : []),
      ...(lacking.length > 0 ? [`waiting: ${refusals(lacking)}`] : []),
      ...(refused.length > lacking.length
        ? [`running, but ${refusals(refused.filter((informer) => !lacking.includes(informer)))}`]
        : []),
    ];
    return { name, ok: filling.length + lacking.length === 0, detail: parts.join('; ') || 'ok' };
  }

  async #runUnit(unit: Unit, signal: AbortSignal): Promise<void> {
    if (!(await this.#waitForKinds(unit, signal))) return;
    this.#started.add(unit);
    for (const informer of unit.informers) {
      if (!this.#informers.has(informer)) this.#informers.set(informer, informer.run(signal));
    }
    this.#options.log.info('controller starts', { controller: unit.name });
    await unit.run(signal);
  }

  async #waitForKinds(unit: Unit, signal: AbortSignal): Promise<boolean> {
    const { clock, random, log } = this.#options;
    const outage = createOutageLog(`discovery for controller ${unit.name}`, clock, log);
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        const missing = await findMissing(unit.needs, signal);
        outage.worked();
        this.#report(unit, missing);
        if (missing.length === 0) return true;
      } catch (error) {
        if (!signal.aborted) outage.failed(error);
        this.#missing.set(unit, [`an answer (${errorText(error)})`]);
      }
      await pause(clock, backoffMs(LOOK_AGAIN, tries, random), signal);
    }
    return false;
  }

  #report(unit: Unit, missing: readonly string[]): void {
    const before = this.#missing.get(unit) ?? [];
    this.#missing.set(unit, missing);
    if (missing.length === 0 || missing.join() === before.join()) return;
    this.#options.log.warn('Controller waits for missing CRDs', {
      controller: unit.name,
      missing,
    });
  }
}

async function findMissing(needs: readonly Need[], signal: AbortSignal): Promise<string[]> {
  const found = new Map<string, ReadonlySet<string>>();
  const missing: string[] = [];
  const clients = new Map<KubeClient, number>();
  for (const { client, definition } of needs) {
    if (!clients.has(client)) clients.set(client, clients.size);
    const key = `${clients.get(client)} ${definition.group}/${definition.version}`;
    const served = found.get(key) ?? (await discoverResources(client, definition, signal));
    found.set(key, served);
    if (!served.has(definition.plural)) missing.push(label(definition));
  }
  return missing;
}
