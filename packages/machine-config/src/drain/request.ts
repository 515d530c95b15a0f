import type { Node } from '@mcm/kube';
import { annotationOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';

/** A drain request of the daemon, whose value the controller copies to another annotation as its response. */
export interface DrainRequest {
  readonly verb: 'drain' | 'uncordon';
  readonly value: string;
}

/** The error for a drain request that the controller does not know. */
export class DrainRequestError extends Error {
  override readonly name = 'DrainRequestError';
}

/**
 * Parses the drain request of a node.
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
