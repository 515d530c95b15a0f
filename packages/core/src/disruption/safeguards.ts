import { Annotations, type Machine, type MachineClass, type MachineDeployment } from '@mcm/api';
import { type Informer, makeKey } from '@mcm/kube';
import { isUndrained } from '../objects/machines.ts';
import { type CensusSources, SilenceCensus } from './census.ts';
import { overridesBreaker } from './override.ts';
import { MAX_UNHEALTHY_REPLACEMENTS } from './replacements.ts';
import { BREAKER_DEFAULTS, type BreakerLimits, type OpenBreaker } from './silence.ts';

/** What an operator may choose of what stands between a failed machine and its replacement. */
export interface SafeguardSettings {
  /** `--max-unhealthy-replacements`: a count or a percentage such as `10%`. */
  readonly maxUnhealthyReplacements: number | string;
  /** `--silence-*`. */
  readonly breaker: BreakerLimits;
  /** `--count-terminating-towards-surge`: what a deployment without the annotation does. */
  readonly countTerminating: boolean;
  /** Feature `RolloutAnnotations`: whether what deployments ask for by `rollout.machine.sapcloud.io/…` is heeded. */
  readonly rolloutAnnotations: boolean;
}

/** Settings in effect without flags. */
export const SAFEGUARD_DEFAULTS: SafeguardSettings = {
  maxUnhealthyReplacements: MAX_UNHEALTHY_REPLACEMENTS,
  breaker: BREAKER_DEFAULTS,
  countTerminating: false,
  rolloutAnnotations: true,
};

/** The settings together with the count of silent machines that they are asked against. */
export class Safeguards {
  readonly settings: SafeguardSettings;
  readonly classes: Informer<MachineClass>;
  readonly #census: SilenceCensus;

  constructor(
    sources: CensusSources & { readonly classes: Informer<MachineClass> },
    settings: SafeguardSettings = SAFEGUARD_DEFAULTS,
  ) {
    this.settings = settings;
    this.classes = sources.classes;
    this.#census = new SilenceCensus(sources);
  }

  /** The open breaker that holds the machine back, unless an operator has overruled it. */
  breakerOf(machine: Machine, now: Date): OpenBreaker | undefined {
    const open = this.#census.breakerOf(machine, this.settings.breaker, now);
    return open && !overridesBreaker(machine, this.#classOf(machine), now) ? open : undefined;
  }

  #classOf({ metadata, spec }: Machine): MachineClass | undefined {
    return this.classes.store.get(makeKey(metadata.namespace, spec.class?.name ?? ''));
  }

  /** Calls `wake` once, when a breaker of one of the machines may have opened or closed. */
  onceChanged(machines: Iterable<Machine>, id: string, wake: () => void): void {
    for (const machine of machines) this.#census.onceChanged(machine, id, wake);
  }
}

/**
 * Which machines are replicas of the deployment. One whose drain cannot end is none of them, or a rollout would wait for it
 * without end; it is one where the user asked that all machines which still terminate count.
 */
export const isReplicaOf = (
  deployment: MachineDeployment,
  settings: Parameters<typeof countsTerminating>[1],
): ((machine: Machine) => boolean) =>
  countsTerminating(deployment, settings) ? () => true : (machine) => !isUndrained(machine);

/** Whether machines that still terminate count towards the deployment's surge: its annotation, else the flag. */
export function countsTerminating(
  { metadata }: MachineDeployment,
  { countTerminating, rolloutAnnotations }: Pick<SafeguardSettings, 'countTerminating' | 'rolloutAnnotations'>,
): boolean {
  const said = rolloutAnnotations ? metadata.annotations?.[Annotations.CountTerminating] : undefined;
  return said === undefined ? countTerminating : said === 'true';
}
