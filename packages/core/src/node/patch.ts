import {
  isInvalid,
  KubeError,
  type Node,
  type Patch,
  type RequestOptions,
  type ResourceClient,
  type Taint,
  type WriteOptions,
} from '@mcm/kube';

type MapChanges = Readonly<Record<string, string | null>>;

/** A change of a Node, in which null removes a key and a list replaces the whole list. */
export interface NodeChange {
  /**
   * The keys of the annotations on which the decision was based. The API server refuses the change if one of the
   * deciding annotations has another value now.
   */
  readonly decidedBy?: readonly string[] | undefined;
  /** If true, the API server refuses the change if another client has changed the Node since the read. */
  readonly onlyIfUnchanged?: boolean | undefined;
  readonly metadata?:
    | {
        readonly labels?: MapChanges | undefined;
        readonly annotations?: MapChanges | undefined;
        readonly finalizers?: readonly string[] | undefined;
      }
    | undefined;
  readonly spec?:
    | {
        readonly unschedulable?: boolean;
        readonly taints?: readonly Taint[] | null;
      }
    | undefined;
}

interface Operation {
  readonly op: 'test' | 'add' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The patch of a Node contains its UID and the values that determined the change. The kubelet often writes the status,
 * so most patches do not contain the resource version.
 * - A patch can only replace the whole list of taints, so a JSON patch tests that the list is still the observed list.
 */
export function nodePatch(node: Node, change: NodeChange): Patch {
  return change.spec?.taints === undefined && !change.decidedBy ? strategic(node, change) : tested(node, change);
}

function strategic(
  { metadata: { uid, resourceVersion, finalizers: current = [] } }: Node,
  { metadata, spec, onlyIfUnchanged }: NodeChange,
): Patch {
  const { finalizers: wanted, ...maps } = metadata ?? {};
  const added = wanted?.filter((name) => !current.includes(name)) ?? [];
  const removed = wanted ? current.filter((name) => !wanted.includes(name)) : [];
  return {
    type: 'strategic',
    body: {
      metadata: {
        uid,
        resourceVersion: onlyIfUnchanged ? resourceVersion : undefined,
        ...maps,
        finalizers: added.length > 0 ? added : undefined,
        '$deleteFromPrimitiveList/finalizers': removed.length > 0 ? removed : undefined,
      },
      spec: spec && { ...spec, unschedulable: spec.unschedulable === false ? null : spec.unschedulable },
    },
  };
}

function tested(
  { metadata: seen, spec: seenSpec }: Node,
  { metadata, spec, decidedBy = [], onlyIfUnchanged }: NodeChange,
): Patch {
  const version: Operation = { op: 'test', path: '/metadata/resourceVersion', value: seen.resourceVersion };
  return {
    type: 'json',
    body: [
      { op: 'test', path: '/metadata/uid', value: seen.uid },
      ...(onlyIfUnchanged ? [version] : []),
      ...decidedBy.map((key) => ({ op: 'test', ...annotationSeen(seen.annotations, key) }) as const),
      ...mapOperations('/metadata/labels', seen.labels, metadata?.labels),
      ...mapOperations('/metadata/annotations', seen.annotations, metadata?.annotations),
      ...(metadata?.finalizers ? listOperations('/metadata/finalizers', seen.finalizers, metadata.finalizers) : []),
      ...(spec?.taints === undefined ? [] : listOperations('/spec/taints', seenSpec.taints, spec.taints ?? [])),
      ...(spec?.unschedulable ? [{ op: 'add', path: '/spec/unschedulable', value: true } as const] : []),
      ...(spec?.unschedulable === false && seenSpec.unschedulable
        ? [{ op: 'remove', path: '/spec/unschedulable' } as const]
        : []),
    ] satisfies Operation[],
  };
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

const annotationSeen = (seen: Readonly<Record<string, string>> | undefined, key: string) => ({
  path: `/metadata/annotations${seen ? `/${escaped(key)}` : ''}`,
  value: seen?.[key] ?? null,
});

/**
 * The API server uses the library evanphx/json-patch. In a test operation, this library treats an absent value as null.
 */
function mapOperations(
  path: string,
  seen: Readonly<Record<string, string>> | undefined,
  changes: MapChanges = {},
): Operation[] {
  const entries = Object.entries(changes);
  const added = entries.filter(([, value]) => value !== null);
  if (!seen) {
    if (added.length === 0) return [];
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: Object.fromEntries(added) },
    ];
  }
  const removed = entries.filter(([key, value]) => value === null && Object.hasOwn(seen, key));
  return [
    ...added.map(([key, value]) => ({ op: 'add', path: `${path}/${escaped(key)}`, value }) as const),
    ...removed.map(([key]) => ({ op: 'remove', path: `${path}/${escaped(key)}` }) as const),
  ];
}

function listOperations(path: string, seen: readonly unknown[] | undefined, wanted: readonly unknown[]): Operation[] {
  const test: Operation = { op: 'test', path, value: seen ?? null };
  if (wanted.length > 0) return [test, { op: 'add', path, value: wanted }];
  return seen ? [test, { op: 'remove', path }] : [test];
}

/**
 * Returns true if the API server refused the patch because the Node changed or was replaced. An error without a field
 * name means that a test of the JSON patch failed, or that the patch removed an absent value.
 */
function isMismatch(error: unknown, { type }: Patch): boolean {
  if (!isInvalid(error)) return false;
  const causes = error.status.details?.causes ?? [];
  return causes.some(({ field }) => field === 'metadata.uid') || (type === 'json' && causes.length === 0);
}

/**
 * @throws KubeError of the API server; 409 if the Node was replaced, or if a list has changed; the caller must then
 * decide again.
 */
export const patchNode = (
  client: ResourceClient<Node>,
  node: Node,
  change: NodeChange,
  options: Pick<RequestOptions, 'signal'> = {},
): Promise<Node> => sendBound(client, node, nodePatch(node, change), options);

/**
 * @param type `strategic` merges conditions by their type, and `merge` replaces the list of conditions.
 * @throws KubeError of the API server; 409 if the Node was replaced by a new Node
 */
export const patchNodeStatus = (
  client: ResourceClient<Node>,
  node: Node,
  type: 'merge' | 'strategic',
  status: object,
  { onlyIfUnchanged, ...options }: Pick<RequestOptions, 'signal'> & Pick<NodeChange, 'onlyIfUnchanged'> = {},
): Promise<Node> => {
  const { uid, resourceVersion } = node.metadata;
  const body = { metadata: onlyIfUnchanged ? { uid, resourceVersion } : { uid }, status };
  return sendBound(client, node, { type, body }, { ...options, subresource: 'status' });
};

/** Sends a patch that contains the UID of the Node, and throws a conflict (409) if the Node was replaced. */
export async function sendBound(
  client: ResourceClient<Node>,
  { metadata: { name } }: Pick<Node, 'metadata'>,
  patch: Patch,
  options: WriteOptions,
): Promise<Node> {
  try {
    return await client.patch(name, patch, options);
  } catch (error) {
    if (!isMismatch(error, patch)) throw error;
    const message = `node ${name} changed after the read; mcm reads the node again`;
    throw new KubeError(message, { code: 409, reason: 'Conflict', cause: error });
  }
}
