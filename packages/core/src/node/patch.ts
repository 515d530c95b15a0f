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

/** What is to become of a Node. Null removes a key; lists are given as they shall be, whole. */
export interface NodeChange {
  /** Keys of annotations that the change was decided by: another value than the one that was seen refuses it. */
  readonly decidedBy?: readonly string[];
  readonly metadata?: {
    readonly labels?: MapChanges;
    readonly annotations?: MapChanges;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: {
    /** False: schedulable again, which the wire says by leaving it out. */
    readonly unschedulable?: boolean;
    /** Null: none. */
    readonly taints?: readonly Taint[] | null;
  };
}

/** An operation of RFC 6902. */
interface Operation {
  readonly op: 'test' | 'add' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The patch that makes a change of a Node as the cache has it. A kubelet writes its Node's status all the time, so no
 * patch is bound to the Node's resourceVersion, only to its UID and to what the change was computed from: finalizers
 * are added and taken away one by one (strategic merge), a list of taints, which is atomic, replaces the list that was
 * seen and no other (JSON patch with a test), and so do annotations that decided.
 */
export function nodePatch(node: Node, change: NodeChange): Patch {
  return change.spec?.taints === undefined && !change.decidedBy ? strategic(node, change) : tested(node, change);
}

function strategic({ metadata: { uid, finalizers: current = [] } }: Node, { metadata, spec }: NodeChange): Patch {
  const { finalizers: wanted, ...maps } = metadata ?? {};
  const added = wanted?.filter((name) => !current.includes(name)) ?? [];
  const removed = wanted ? current.filter((name) => !wanted.includes(name)) : [];
  return {
    type: 'strategic',
    body: {
      metadata: {
        uid,
        ...maps,
        ...(added.length > 0 ? { finalizers: added } : {}),
        ...(removed.length > 0 ? { '$deleteFromPrimitiveList/finalizers': removed } : {}),
      },
      ...(spec ? { spec: { ...spec, ...(spec.unschedulable === false ? { unschedulable: null } : {}) } } : {}),
    },
  };
}

function tested({ metadata: seen, spec: seenSpec }: Node, { metadata, spec, decidedBy = [] }: NodeChange): Patch {
  return {
    type: 'json',
    body: [
      { op: 'test', path: '/metadata/uid', value: seen.uid },
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

/** Path and value of an annotation; of all of them where there are none. */
const annotationSeen = (seen: Readonly<Record<string, string>> | undefined, key: string) => ({
  path: `/metadata/annotations${seen ? `/${escaped(key)}` : ''}`,
  value: seen?.[key] ?? null,
});

/** What is absent tests equal to null, as evanphx/json-patch has it. */
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
 * Whether the server refused because the Node is not the one, or not as, the patch was made for. A UID counts as a field
 * that cannot change; a refusal of a JSON patch that names no field is of a failed test, or what it removes is gone.
 */
function isMismatch(error: unknown, { type }: Patch): boolean {
  if (!isInvalid(error)) return false;
  const causes = error.status.details?.causes ?? [];
  return causes.some(({ field }) => field === 'metadata.uid') || (type === 'json' && causes.length === 0);
}

/**
 * Changes a Node.
 * @throws KubeError as the server answers; 409 when another Node has the name, or a list is not as it was seen: look again
 */
export const patchNode = (
  client: ResourceClient<Node>,
  node: Node,
  change: NodeChange,
  options: Pick<RequestOptions, 'signal'> = {},
): Promise<Node> => sendBound(client, node, nodePatch(node, change), options);

/**
 * Changes the status of a Node.
 * @param type `strategic` merges conditions by their type, `merge` replaces the list.
 * @throws KubeError as the server answers; 409 when another Node has taken the name
 */
export const patchNodeStatus = (
  client: ResourceClient<Node>,
  node: Node,
  type: 'merge' | 'strategic',
  status: object,
  options: Pick<RequestOptions, 'signal'> = {},
): Promise<Node> => {
  const body = { metadata: { uid: node.metadata.uid }, status };
  return sendBound(client, node, { type, body }, { ...options, subresource: 'status' });
};

async function sendBound(
  client: ResourceClient<Node>,
  { metadata: { name } }: Node,
  patch: Patch,
  options: WriteOptions,
): Promise<Node> {
  try {
    return await client.patch(name, patch, options);
  } catch (error) {
    if (!isMismatch(error, patch)) throw error;
    const message = `node ${name} is not as it was seen; it is looked at again`;
    throw new KubeError(message, { code: 409, reason: 'Conflict', cause: error });
  }
}
