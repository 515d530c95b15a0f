import { KubeError, type Node, type RequestOptions, type ResourceClient } from '@mcm/kube';
import { NODE_METADATA_MANAGER } from './drift.ts';
import { sendBound } from './patch.ts';
import type { AppliedMetadata } from './sync.ts';

/** Matches conflicts with earlier versions of the machine controller. mcm may change the fields of these versions. */
const OWN_MANAGER = /^conflict with "machine-controller/;

type Part = 'labels' | 'annotations';

/** Returns the fields of other clients that caused the conflict, or undefined for another refusal. */
function foreignFields(error: unknown): readonly string[] | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const causes = error.status.details?.causes ?? [];
  const conflicts = causes.filter(({ reason }) => reason === 'FieldManagerConflict');
  if (conflicts.length === 0) return undefined;
  return conflicts.filter(({ message = '' }) => !OWN_MANAGER.test(message)).map(({ field = '' }) => field);
}

const without = (applied: AppliedMetadata, part: Part, fields: readonly string[]): AppliedMetadata[Part] =>
  Object.fromEntries(Object.entries(applied[part]).filter(([key]) => !fields.includes(`.metadata.${part}.${key}`)));

export interface AppliedNode {
  readonly node: Node | undefined;
  readonly yielded: number;
}

const sizeOf = ({ labels, annotations }: AppliedMetadata): number =>
  Object.keys(labels).length + Object.keys(annotations).length;

/**
 * Applies labels and annotations to a Node with server-side apply. A key that another client owns keeps its value.
 * @throws KubeError of the API server; 409 if a user replaced the Node by a new Node
 */
export async function applyNodeMetadata(
  client: ResourceClient<Node>,
  seen: Node,
  applied: AppliedMetadata,
  options: Pick<RequestOptions, 'signal'> = {},
): Promise<AppliedNode> {
  const { name, uid } = seen.metadata;
  let rest = applied;
  let force = false;
  for (;;) {
    if (sizeOf(rest) === 0) return { node: undefined, yielded: sizeOf(applied) };
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid, ...rest } };
    try {
      const patch = { type: 'apply', body, fieldManager: NODE_METADATA_MANAGER, force } as const;
      const node = await sendBound(client, seen, patch, options);
      return { node, yielded: sizeOf(applied) - sizeOf(rest) };
    } catch (error) {
      const foreign = foreignFields(error);
      if (foreign === undefined) throw error;
      const next = { labels: without(rest, 'labels', foreign), annotations: without(rest, 'annotations', foreign) };
      // If only machine controllers own the conflicting fields, the next request uses `force`. Each iteration removes a
      // key or sets `force`, so the loop ends.
      if (sizeOf(next) === sizeOf(rest) && (force || foreign.length > 0)) throw error;
      force = foreign.length === 0;
      rest = next;
    }
  }
}
