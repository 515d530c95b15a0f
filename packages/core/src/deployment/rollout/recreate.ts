import { counted } from '@mcm/api';
import { isActive, type SetSize, type Sizes } from '../state/size.ts';
import type { RolloutStep } from './rolling-update.ts';

export type RecreateStep =
  | ({ readonly kind: 'resize' } & RolloutStep)
  | { readonly kind: 'create'; readonly because: string }
  | { readonly kind: 'wait'; readonly because: string };

/**
 * A deployment with the strategy Recreate never has machines of two templates at the same time
 * (docs/compatibility/rules-deployments.md §4).
 */
export function planRecreate({ current, old }: Sizes, replicas: number): RecreateStep {
  const active = old.filter(isActive);
  if (active.length > 0) {
    return {
      kind: 'resize',
      resize: new Map(active.map((size) => [size.name, 0])),
      because: 'deleting all old machines before the creation of new machines',
    };
  }
  const left = old.reduce((total, size: SetSize) => total + size.actual, 0);
  if (left > 0)
    return { kind: 'wait', because: `${counted(left, 'old machine')} still ${left === 1 ? 'exists' : 'exist'}` };
  if (current === undefined) return { kind: 'create', because: 'no old machine remains' };
  if (current.replicas !== replicas) {
    return {
      kind: 'resize',
      resize: new Map([[current.name, replicas]]),
      because: 'scaling the current MachineSet to all replicas of the deployment',
    };
  }
  const because =
    current.available < replicas
      ? `${current.available} of ${replicas} machines are available`
      : 'no old machine remains';
  return { kind: 'wait', because };
}
