import { Annotations, isFrozen, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { createdAt, isFailed, isTerminating } from '../../objects/machines.ts';
import { hashOfSet } from '../../rollout/template-hash.ts';
import { compareText } from '../../values/integers.ts';
import { isTaken, isUsable, type WarmSetting, warmSettingOf, warmStateOf } from '../../warm/warm-machine.ts';

/** The maximum number of warm machines that one reconcile creates. */
const BURST = 100;

export interface WarmSnapshot {
  readonly deployment: MachineDeployment;
  readonly current: MachineSet | undefined;
  readonly old: readonly MachineSet[];
  readonly warm: readonly Machine[];
  readonly alive: number;
}

export interface WarmPlan {
  readonly create: number;
  readonly state: WarmSetting['state'];
  readonly remove: readonly Machine[];
  readonly because: string;
}

const NOTHING: WarmPlan = { create: 0, remove: [], state: 'Stopped', because: 'no change' };

/** Sorts unusable machines first, and then the newest machines. */
const leastUseful =
  (hash: string | undefined) =>
  (a: Machine, b: Machine): number =>
    Number(isUsable(a, hash)) - Number(isUsable(b, hash)) ||
    createdAt(b) - createdAt(a) ||
    compareText(a.metadata.name, b.metadata.name);

/**
 * Plans the warm machines of a deployment.
 * - During a rollout, warm machines of the old template stay, because a failed rollout may be undone.
 * - mcm creates no warm machine while the current set lacks machines.
 * - A warm machine that a set is taking does not count and is never deleted.
 */
export function planWarmPool(snapshot: WarmSnapshot): WarmPlan {
  const { deployment, current, old, alive } = snapshot;
  const setting = warmSettingOf(deployment);
  if (setting !== undefined && 'problem' in setting) return { ...NOTHING, because: setting.problem };
  const { count, state } = setting ?? { count: 0, state: 'Stopped' as const };
  const warm = snapshot.warm.filter((machine) => !isTerminating(machine) && !isTaken(machine));
  const hash = current && hashOfSet(current);
  const rolling = current === undefined || old.some((set) => (set.spec.replicas ?? 0) > 0);
  const isStale = (machine: Machine) =>
    isFailed(machine) ||
    (!rolling && (machine.metadata.annotations?.[Annotations.WarmTemplate] !== hash || warmStateOf(machine) !== state));
  const stale = warm.filter(isStale);
  const kept = warm.filter((machine) => !stale.includes(machine)).toSorted(leastUseful(hash));
  const surplus = kept.slice(0, Math.max(kept.length - count, 0));
  const remove = [...stale, ...surplus];
  const missing = count - (kept.length - surplus.length);
  const lacks = current === undefined || alive < (current.spec.replicas ?? 0);
  const waits = rolling || lacks || deployment.spec.paused === true || isFrozen(deployment);
  const create = waits ? 0 : Math.min(missing, BURST);
  if (remove.length + create === 0) return NOTHING;
  const because = `warm machines: ${stale.length} outdated or failed, ${surplus.length} surplus, ${create} missing of ${count}`;
  return { create, state, remove, because };
}
