import type { Node } from '@mcm/kube';
import { parseDuration } from '@mcm/kube';
import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { isTargeted, isUpdatedAndReady, targetOf } from '../../conditions/predicates.ts';
import { CURE_MARK } from '../../config/cure.ts';
import { ConfigAnnotations } from '../../constants/annotations.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** What the canaries allow. */
export interface CanaryVerdict {
  /** Nodes that may be told the target now, besides what maxUnavailable allows. */
  readonly room: number;
  /** Absent: the pool has no canaries, and never had. */
  readonly condition?: WantedCondition;
  /** How long until the soak is over. */
  readonly againMs?: number;
}

const EVERYONE = Number.MAX_SAFE_INTEGER;
/** A condition that has just ended is looked at again so soon. */
const BEGIN_MS = 1_000;

type CanarySettings = { readonly count: number; readonly soakMs: number } | { readonly problem: string };

/** What the annotations say; undefined: nothing. */
function settingsOf({ metadata: { name, annotations = {} } }: MachineConfigPool): CanarySettings | undefined {
  const { Canary, CanarySoak } = ConfigAnnotations;
  const wanted = annotations[Canary];
  if (wanted === undefined) return undefined;
  const malformed = (key: string, text: string, cure: string) => ({
    problem:
      `annotation ${key} of MachineConfigPool ${name} is ${JSON.stringify(text)}: no node is told anything` +
      `${CURE_MARK}write ${cure}, or remove it`,
  });
  if (!/^[1-9]\d{0,4}$/.test(wanted)) return malformed(Canary, wanted, 'a count of nodes such as "1"');
  const soakText = annotations[CanarySoak] ?? '0s';
  const soakMs = parseDuration(soakText);
  if (soakMs === undefined || soakMs < 0) return malformed(CanarySoak, soakText, 'a time such as "30m"');
  return { count: Number(wanted), soakMs };
}

/** What is wrong with the annotations of a pool, with the cure. */
export function canaryProblem(pool: MachineConfigPool): string | undefined {
  const settings = settingsOf(pool);
  return settings && 'problem' in settings ? settings.problem : undefined;
}

/**
 * Lets a few nodes go first, and the others only when those have been updated and Ready for a while. Asked for by the
 * pool's annotations `canary` (nodes) and `canary-soak` (such as `30m`).
 * @param now milliseconds
 */
export function judgeCanaries(pool: MachineConfigPool, nodes: readonly Node[], now: number): CanaryVerdict {
  const settings = settingsOf(pool);
  if (!settings) return { room: EVERYONE };
  if ('problem' in settings) return { room: 0 };
  const type = PoolConditions.CanaryPassed;
  const known = conditionOf(pool.status?.conditions, type);
  const count = Math.min(settings.count, nodes.length);
  const good = nodes.filter((node) => isUpdatedAndReady(node, pool)).length;
  if (good < count) {
    const told = nodes.filter((node) => isTargeted(node, pool)).length;
    const message = `${good} of ${count} canaries have MachineConfig ${targetOf(pool)}`;
    return { room: Math.max(count - told, 0), condition: { type, status: 'False', reason: 'Waiting', message } };
  }
  const message = `${count} canaries have MachineConfig ${targetOf(pool)}`;
  if (known?.status === 'True' && known.message !== message) {
    // They passed with another target, and its soak is not this one's: the condition begins anew.
    return { room: 0, condition: { type, status: 'False', reason: 'Waiting', message }, againMs: BEGIN_MS };
  }
  const since = known?.status === 'True' ? Date.parse(known.lastTransitionTime ?? '') : now;
  const left = since + settings.soakMs - now;
  const condition: WantedCondition = { type, status: 'True', reason: 'Updated', message };
  return left > 0 ? { room: 0, condition, againMs: left } : { room: EVERYONE, condition };
}
