import { Annotations, type Machine, type MachineClass, type MachineDeployment } from '@mcm/api';
import { type Informer, makeKey } from '@mcm/kube';
import { isUndrained } from '../objects/machines.ts';
import { type CensusSources, type OnFiled, UnreachableCensus } from './census.ts';
import { overridesBreaker } from './override.ts';
import { MAX_UNHEALTHY_REPLACEMENTS } from './replacements.ts';
import { BREAKER_DEFAULTS, type BreakerLimits, type OpenBreaker } from './unreachable.ts';

/** Settings with which an operator limits the replacement of failed machines. */
export interface SafeguardSettings {
  readonly maxUnhealthyReplacements: number | string;
  readonly breaker: BreakerLimits;
  /** The value of `--count-terminating-towards-surge`, which is the default for deployments without the annotation. */
  readonly countTerminating: boolean;
  /** Whether the annotations `rollout.machine.sapcloud.io/…` of deployments are used (feature `RolloutAnnotations`). */
  readonly rolloutAnnotations: boolean;
}

/** The default safeguard settings. */
export const SAFEGUARD_DEFAULTS: SafeguardSettings = {
  maxUnhealthyReplacements: MAX_UNHEALTHY_REPLACEMENTS,
  breaker: BREAKER_DEFAULTS,
  countTerminating: false,
  rolloutAnnotations: true,
};

/** Combines the safeguard settings with the counts of unreachable machines. */
export class Safeguards {
  readonly settings: SafeguardSettings;
  readonly classes: Informer<MachineClass>;
  readonly #census: UnreachableCensus;

  constructor(
    sources: CensusSources & { readonly classes: Informer<MachineClass> },
    settings: SafeguardSettings = SAFEGUARD_DEFAULTS,
  ) {
    this.settings = settings;
    this.classes = sources.classes;
    this.#census = new UnreachableCensus(sources);
  }

  breakerOf(machine: Machine, now: Date): OpenBreaker | undefined {
    const open = this.#census.breakerOf(machine, this.settings.breaker, now);
    return open && !overridesBreaker(machine, this.#classOf(machine), now) ? open : undefined;
  }

  #classOf({ metadata, spec }: Machine): MachineClass | undefined {
    return this.classes.store.get(makeKey(metadata.namespace, spec.class?.name ?? ''));
  }

  openIn(scope: string, now: Date): OpenBreaker | undefined {
    return this.#census.openIn(scope, this.settings.breaker, now);
  }

  joinedIn(scope: string): number {
    return this.#census.joinedIn(scope);
  }

  /** The caller must register the listener for changes of machines before the caches start. */
  onFiled(hear: OnFiled): void {
    this.#census.onFiled(hear);
  }

  onceChanged(machines: Iterable<Machine>, id: string, wake: () => void): void {
    for (const machine of machines) this.#census.onceChanged(machine, id, wake);
  }
}

/**
 * Returns the function that decides whether a machine counts as a replica. A machine whose drain cannot end does not
 * count, because a rollout would wait for this machine forever.
 */
export const isReplicaOf = (
  deployment: MachineDeployment,
  settings: Parameters<typeof countsTerminating>[1],
): ((machine: Machine) => boolean) =>
  countsTerminating(deployment, settings) ? () => true : (machine) => !isUndrained(machine);

/** Returns whether terminating machines count; the annotation of the deployment takes precedence over the flag. */
export function countsTerminating(
  { metadata }: MachineDeployment,
  { countTerminating, rolloutAnnotations }: Pick<SafeguardSettings, 'countTerminating' | 'rolloutAnnotations'>,
): boolean {
  const said = rolloutAnnotations ? metadata.annotations?.[Annotations.CountTerminating] : undefined;
  return said === undefined ? countTerminating : said === 'true';
}
