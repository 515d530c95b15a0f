import type { Node } from '@mcm/kube';
import { annotationOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';

/**
 * A request of the daemon. `value` is the whole annotation. The controller copies the value of the request as its
 * response.
 */
export interface DrainRequest {
  readonly verb: 'drain' | 'uncordon';
  readonly value: string;
}

/** A request that the controller does not know. */
export class DrainRequestError extends Error {
  override readonly name = 'DrainRequestError';
}

/**
 * Parses the request of a node.
 * @throws DrainRequestError naming annotation and value
 */
export function drainRequestOf(node: Node): DrainRequest | undefined {
  const value = annotationOf(node, NodeAnnotations.DesiredDrain);
  if (value === '' || value === annotationOf(node, NodeAnnotations.LastAppliedDrain)) return undefined;
  const verb = value.split('-', 1)[0];
  if (verb === 'drain' || verb === 'uncordon') return { verb, value };
  throw new DrainRequestError(
    `annotation ${NodeAnnotations.DesiredDrain} of node ${node.metadata.name} is ${JSON.stringify(value)}: ` +
      'expected drain-<config> or uncordon-<config>',
  );
}
