import type { Node } from '@mcm/kube';
import { parseDuration } from '@mcm/kube';
import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { isTargeted, isUpdatedAndReady, targetOf } from '../../conditions/predicates.ts';
import { HINT_MARK } from '../../config/hint.ts';
import { ConfigAnnotations } from '../../constants/annotations.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** The decision about the canaries of a pool. */
export interface CanaryVerdict {
  readonly room: number;
  readonly condition?: WantedCondition;
  readonly againMs?: number;
}

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const BEGIN_MS = 1_000;

type CanarySettings = { readonly count: number; readonly soakMs: number } | { readonly problem: string };

function settingsOf({ metadata: { name, annotations = {} } }: MachineConfigPool): CanarySettings | undefined {
  const { Canary, CanarySoak } = ConfigAnnotations;
  const wanted = annotations[Canary];
  if (wanted === undefined) return undefined;
  const malformed = (key: string, text: string, hint: string) => ({
    problem:
      `annotation ${key} of MachineConfigPool ${name} is ${JSON.stringify(text)}: no node gets a target` +
      `${HINT_MARK}write ${hint}, or remove the annotation`,
  });
  if (!/^[1-9]\d{0,4}$/.test(wanted)) return malformed(Canary, wanted, 'a count of nodes such as "1"');
  const soakText = annotations[CanarySoak] ?? '0s';
  const soakMs = parseDuration(soakText);
  if (soakMs === undefined || soakMs < 0) return malformed(CanarySoak, soakText, 'a time such as "30m"');
  return { count: Number(wanted), soakMs };
}

export function canaryProblem(pool: MachineConfigPool): string | undefined {
  const settings = settingsOf(pool);
  return settings && 'problem' in settings ? settings.problem : undefined;
}

/**
 * Decides whether nodes may get the target. The canaries get the target first.
 * @param now milliseconds
 */
export function evaluateCanaries(pool: MachineConfigPool, nodes: readonly Node[], now: number): CanaryVerdict {
  const settings = settingsOf(pool);
  if (!settings) return { room: UNLIMITED };
  if ('problem' in settings) return { room: 0 };
  const type = PoolConditions.CanaryPassed;
  const known = conditionOf(pool.status?.conditions, type);
  const count = Math.min(settings.count, nodes.length);
  const good = nodes.filter((node) => isUpdatedAndReady(node, pool)).length;
  if (good < count) {
    const targeted = nodes.filter((node) => isTargeted(node, pool)).length;
    const message = `${good} of ${count} canaries have MachineConfig ${targetOf(pool)}`;
    return { room: Math.max(count - targeted, 0), condition: { type, status: 'False', reason: 'Waiting', message } };
  }
  const message = `${count} canaries have MachineConfig ${targetOf(pool)}`;
  if (known?.status === 'True' && known.message !== message) {
    // The condition reports success of the canaries with an earlier target, so the soak time starts again.
    return { room: 0, condition: { type, status: 'False', reason: 'Waiting', message }, againMs: BEGIN_MS };
  }
  const since = known?.status === 'True' ? Date.parse(known.lastTransitionTime ?? '') : now;
  const left = since + settings.soakMs - now;
  const condition: WantedCondition = { type, status: 'True', reason: 'Updated', message };
  return left > 0 ? { room: 0, condition, againMs: left } : { room: UNLIMITED, condition };
}
