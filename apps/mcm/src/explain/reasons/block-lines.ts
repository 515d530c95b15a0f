import type { Block } from '@mcm/api';
import { age } from '../../output/age.ts';

/**
 * Returns a line for each entry in `status.blockedBy`, such as `Drain by PodDisruptionBudget default/web, for 5m: …`.
 */
export const blockLines = (blocks: readonly Block[], now: Date): string[] =>
  blocks.map(({ cause, object, reason, since }) => {
    const name = object?.namespace === undefined ? object?.name : `${object.namespace}/${object.name}`;
    const by = object ? ` by ${object.kind} ${name}` : '';
    return `${cause}${by}, for ${age(now.getTime() - Date.parse(since))}: ${reason}`;
  });
