import { Annotations } from '@mcm/api';
import { budgetOptIn } from '../opt-in/budget-feature.ts';
import { bufferOptIn } from '../opt-in/buffer-feature.ts';
import { canaryOptIn } from '../opt-in/canary-feature.ts';
import type { OptIn } from '../opt-in/feature.ts';
import { journalOptIn } from '../opt-in/journal-feature.ts';
import { reportOptIn } from '../opt-in/report-feature.ts';
import { Dice } from '../script/dice.ts';
import { ALTERNATIVES, CapacityVerifier } from '../verifiers/capacity-verifier.ts';
import { DriftVerifier } from '../verifiers/drift-verifier.ts';
import { HoldVerifier } from '../verifiers/hold-verifier.ts';
import { HOOKS, HookVerifier } from '../verifiers/hook-verifier.ts';
import { InterruptionVerifier } from '../verifiers/interruption-verifier.ts';
import { KeptUpdateVerifier } from '../verifiers/kept-update-verifier.ts';
import { RestoreVerifier } from '../verifiers/restore-verifier.ts';
import { SimulatedWebhook } from '../verifiers/simulated-webhook.ts';
import { WarmVerifier } from '../verifiers/warm-verifier.ts';
import { ZONE_LIST, ZoneVerifier } from '../verifiers/zone-verifier.ts';
import { ConfigWorld } from '../world/config-world.ts';
import { pauseHold, windowHold } from '../world/holds.ts';
import { World, type WorldOptions } from '../world/world.ts';
import { MOST_WARM } from '../world/world-options.ts';
import { FleetPools } from './fleet-pools.ts';
import { type FleetMode, hasPools, strategyOf } from './modes.ts';
import type { HistoryOptions, Outcome } from './outcome.ts';
import { LARGE_FLEETS, RandomHistory } from './random-acts.ts';
import { Restores } from './restores.ts';

export interface RandomOutcome extends Outcome {
  readonly holds: number;
  readonly interruptions: number;
  readonly refusals: number;
  readonly used: number;
  readonly placed: number;
  readonly hooked: number;
  readonly keptUpdates: number;
  readonly drifted: number;
  readonly optedIn: number;
}

export interface FleetHistoryOptions extends HistoryOptions {
  readonly wrap?: NonNullable<WorldOptions['wrap']>;
  readonly wrapCloud?: NonNullable<WorldOptions['wrapCloud']>;
  readonly elected?: Pick<WorldOptions, 'unfenced'>;
}

/** Returns the annotations about warm machines of the deployment. */
const warmAnnotations = (mode: FleetMode, seed: number) =>
  mode === 'warm'
    ? {
        [Annotations.WarmMachines]: String(MOST_WARM),
        [Annotations.WarmState]: seed % 4 === 3 ? 'Running' : 'Stopped',
      }
    : undefined;

/** In every second history, rollouts have a limit for each zone. */
const zoneAnnotations = (seed: number) =>
  seed % 2 === 0
    ? { [Annotations.Zones]: ZONE_LIST, [Annotations.ZonesMaxUnavailable]: '1' }
    : { [Annotations.Zones]: ZONE_LIST };

const TIMEOUTS = { creationTimeout: '5m', healthTimeout: '3m', inPlaceUpdateTimeout: '5m' } as const;

const MAX_SKEW_MS = 120_000;

/** In every third history with leader election, the clocks of the four processes differ. */
function skewOf(seed: number): NonNullable<WorldOptions['skewMs']> {
  if (seed % 3 !== 1) return {};
  const dice = new Dice(seed + 4_000_000);
  const skew = () => dice.number(2 * MAX_SKEW_MS) - MAX_SKEW_MS;
  return { manager: [skew(), skew()], 'machine-controller': [skew(), skew()] };
}

/**
 * Returns true if a failed in-place update stops the rollout. The seeds of these histories have the remainder 0 or 1
 * when divided by 4.
 */
const keepsUpdates = (mode: FleetMode, seed: number): boolean => mode === 'in-place' && seed % 4 < 2;

function annotationsOf(mode: FleetMode, seed: number, windows: string | undefined): WorldOptions['annotations'] {
  if (windows !== undefined) return { [Annotations.RolloutWindows]: windows };
  if (keepsUpdates(mode, seed)) return KeptUpdateVerifier.annotations;
  return mode === 'zones' ? zoneAnnotations(seed) : warmAnnotations(mode, seed);
}

/** Returns true if another client changes labels of Nodes, as in every third history. */
const hasDrift = (mode: FleetMode, seed: number): boolean => mode === 'rolls' && seed % 3 === 0;

function classAnnotationsOf(mode: FleetMode, seed: number): WorldOptions['classAnnotations'] {
  if (hasDrift(mode, seed)) return DriftVerifier.classAnnotations;
  if (mode === 'capacity') return { [Annotations.CapacityAlternatives]: ALTERNATIVES };
  return mode === 'hooks' ? { [Annotations.Hooks]: HOOKS } : undefined;
}

/** Returns the feature that a history enables, if the feature is off by default. */
function optInOf(mode: FleetMode, seed: number): OptIn | undefined {
  if (mode === 'canary') return canaryOptIn(seed);
  if (mode === 'buffers') return bufferOptIn(seed);
  if (mode === 'budgets') return budgetOptIn();
  if (mode === 'journal') return journalOptIn();
  return mode === 'reports' ? reportOptIn(strategyOf(mode, seed)) : undefined;
}

export async function play(mode: FleetMode, options: FleetHistoryOptions): Promise<RandomOutcome> {
  const { seed, profile, wrap, journal } = options;
  const windows = windowHold(5);
  const hold = mode === 'pauses' ? pauseHold() : mode === 'windows' ? windows : undefined;
  const elected =
    mode === 'leases'
      ? { elections: true, skewMs: skewOf(seed), ...options.elected }
      : // Without a Lease, a process may not notice a restore during which it was not connected.
        { elections: mode === 'restores' };
  const capacity = mode === 'capacity' ? new CapacityVerifier() : undefined;
  const webhook = mode === 'hooks' ? new SimulatedWebhook(new Dice(seed + 6_000_000)) : undefined;
  const restored = mode === 'restores' ? new RestoreVerifier() : undefined;
  const optIn = optInOf(mode, seed);
  const worldOptions: WorldOptions = {
    seed,
    profile,
    machine: hasDrift(mode, seed) ? { ...TIMEOUTS, ...DriftVerifier.machine } : TIMEOUTS,
    kubelets: { joinDelay: hold ? (hold === windows ? 10_000 : 2_000) * (2 + (seed % 7)) : 500 * (seed % 7) },
    ...strategyOf(mode, seed),
    annotations: annotationsOf(mode, seed, hold === windows ? windows.annotation : undefined),
    moreClasses: mode === 'large' ? ['red'] : undefined,
    disks: mode === 'disks',
    restorable: restored !== undefined,
    interruptions: mode === 'interruptions',
    hookWebhooks: webhook?.options,
    classAnnotations: classAnnotationsOf(mode, seed),
    wrapCloud: options.wrapCloud ?? capacity?.wrap ?? restored?.wrap,
    isSeparate: seed % 2 === 1,
    ...elected,
    restartAfterMs: 1_000 * (seed % 11),
    wrap,
    journal,
    ...optIn?.options,
  };
  const config = hasPools(mode, seed) ? await ConfigWorld.start({}, worldOptions) : undefined;
  const world = config?.world ?? (await World.start(worldOptions));
  capacity?.attach(world);
  restored?.watch(world);
  if (mode === 'warm') world.wantsWarm = MOST_WARM;
  const end = new AbortController();
  const pools = config && new FleetPools(config, new Dice(seed + 2_000_000), LARGE_FLEETS);
  const interruptions = mode === 'interruptions' ? InterruptionVerifier.watch(world, end.signal) : undefined;
  const warm = mode === 'warm' ? WarmVerifier.watch(world, end.signal) : undefined;
  const zones = mode === 'zones' ? ZoneVerifier.watch(world, end.signal) : undefined;
  const hooks = webhook && HookVerifier.watch(world, new Dice(seed + 3_000_000), webhook, end.signal);
  const drift = hasDrift(mode, seed) ? DriftVerifier.watch(world, end.signal) : undefined;
  const keptUpdates = keepsUpdates(mode, seed) ? KeptUpdateVerifier.watch(world, end.signal) : undefined;
  const restores = restored && new Restores(world, restored, new Dice(seed + 5_000_000));
  const feature = optIn?.watch(world, end.signal);
  const verifier = hold && HoldVerifier.watch(world, hold, end.signal);
  const violations: string[] = [];
  const parts = { pools, interruptions, zones, hooks, restores, keptUpdates, drift, feature };
  const played = new RandomHistory(world, mode, options, parts);
  try {
    await pools?.create(end.signal);
    await world.reporter.until(played.run(), options);
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...world.violations);
  const history = JSON.stringify(world.reporter.history);
  const story = world.reporter.tell();
  end.abort(new Error('closed'));
  await (config ?? world).close();
  return {
    violations,
    story,
    history,
    plan: played.plan,
    holds: verifier?.verified ?? 0,
    interruptions: interruptions?.verified ?? 0,
    refusals: capacity?.verified ?? 0,
    used: warm?.used ?? 0,
    placed: zones?.placed ?? 0,
    hooked: hooks?.verified ?? 0,
    keptUpdates: keptUpdates?.verified ?? 0,
    drifted: drift?.verified ?? 0,
    optedIn: feature?.verified ?? 0,
  };
}
