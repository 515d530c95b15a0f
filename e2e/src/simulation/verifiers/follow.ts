import { type Change, createInformer, type KubeObject, type ResourceDefinition, seededRandom } from '@mcm/kube';
import type { World } from '../world/world.ts';

/** Calls `onChange` for each change of an object until `signal` is aborted. */
export function follow<T extends KubeObject>(
  { admin, clock, log, reporter }: World,
  definition: ResourceDefinition<T>,
  signal: AbortSignal,
  onChange: (change: Change<T>) => void,
): void {
  const informer = createInformer<T>(admin, definition, { clock, log, random: seededRandom(0) });
  informer.onChange(onChange);
  void informer.run(signal).catch((error: unknown) => reporter.violate(String(error)));
}
