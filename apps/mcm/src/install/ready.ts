import { type Clock, type EventObject, errorText, events, ignoreNotFound, type KubeClient, sleep } from '@mcm/kube';

const POLL_MS = 2_000;

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly generation?: number };
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  };
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
      readonly lastState?: { readonly terminated?: { readonly exitCode?: number } };
    }[];
  };
}

const PLURALS: Readonly<Record<string, string>> = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
};

/** Returns true if one of the objects creates pods. */
export const hasPods = (objects: readonly object[]): boolean =>
  objects.some((one) => 'kind' in one && typeof one.kind === 'string' && one.kind in PLURALS);

export interface ReadyOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Waits until all Deployments, StatefulSets and DaemonSets are rolled out.
 * @returns the reasons why objects are not ready at the timeout; an empty list if all are ready
 */
export async function untilReady(
  client: KubeClient,
  objects: readonly object[],
  { clock, signal, timeoutMs }: ReadyOptions,
): Promise<readonly string[]> {
  const wanted = objects.filter((object): object is Workload => 'kind' in object && String(object.kind) in PLURALS);
  const end = clock.monotonic() + timeoutMs;
  for (;;) {
    const found = await Promise.all(wanted.map((one) => read(client, one, signal)));
    const waiting = found.filter((workload) => !isReady(workload));
    if (waiting.length === 0) return [];
    if (clock.monotonic() >= end) {
      return (await Promise.all(waiting.map((workload) => reasonsOf(client, workload, signal)))).flat();
    }
    await sleep(clock, POLL_MS, signal);
  }
}

const read = (client: KubeClient, { kind, metadata }: Workload, signal: AbortSignal): Promise<Workload> =>
  client.request<Workload>('GET', `/apis/apps/v1/namespaces/${metadata.namespace}/${PLURALS[kind]}/${metadata.name}`, {
    signal,
  });

const count = ({ status }: Workload, field: string): number => {
  const value = status?.[field];
  return typeof value === 'number' ? value : 0;
};

/** Returns how many replicas must be available. */
const wantedOf = (workload: Workload): number =>
  workload.kind === 'DaemonSet' ? count(workload, 'desiredNumberScheduled') : (workload.spec.replicas ?? 1);

const availableOf = (workload: Workload): number =>
  count(workload, workload.kind === 'DaemonSet' ? 'numberAvailable' : 'availableReplicas');

const updatedOf = (workload: Workload): number =>
  count(workload, workload.kind === 'DaemonSet' ? 'updatedNumberScheduled' : 'updatedReplicas');

/**
 * Returns a text about the available pods. During an upgrade, old pods can be available too, so the text contains the
 * number of new pods.
 */
function headOf(workload: Workload): string {
  const { kind, metadata } = workload;
  const [wanted, available, updated] = [wantedOf(workload), availableOf(workload), updatedOf(workload)];
  const ofNew = available > 0 && updated < wanted ? `, and only ${updated} of ${wanted} pods are updated` : '';
  return `${kind.toLowerCase()}/${metadata.name}: ${available} of ${wanted} pods are available${ofNew}`;
}

function isReady(workload: Workload): boolean {
  const wanted = wantedOf(workload);
  const isSeen = count(workload, 'observedGeneration') >= (workload.metadata.generation ?? 1);
  return isSeen && updatedOf(workload) >= wanted && availableOf(workload) >= wanted;
}

async function reasonsOf(client: KubeClient, workload: Workload, signal: AbortSignal): Promise<readonly string[]> {
  const { metadata, spec, status } = workload;
  const selector = Object.entries(spec.selector.matchLabels).map(([key, value]) => `${key}=${value}`);
  const path = `/api/v1/namespaces/${metadata.namespace}/pods?labelSelector=${encodeURIComponent(selector.join(','))}`;
  const head = headOf(workload);
  const refused = status?.conditions?.filter((one) => one.type === 'ReplicaFailure' && one.status === 'True') ?? [];
  try {
    const { items } = await client.request<{ items: readonly Pod[] }>('GET', path, { signal });
    const ofPods = await Promise.all(items.map((pod) => reasonOfPod(client, metadata.namespace, pod)));
    const none = items.length === 0 && refused.length === 0 ? ['the Deployment or StatefulSet has no pods yet'] : [];
    return [
      head,
      ...[...refused.map(({ message = '' }) => message), ...none, ...ofPods.flat()].map((one) => `  ${one}`),
    ];
  } catch (error) {
    return [head, `  cannot read the pods (${errorText(error)})`];
  }
}

async function reasonOfPod(
  client: KubeClient,
  namespace: string,
  { metadata, status }: Pod,
): Promise<readonly string[]> {
  const of = (type: string) => status?.conditions?.find((one) => one.type === type);
  if (of('Ready')?.status === 'True') return [];
  const unscheduled = of('PodScheduled');
  if (unscheduled?.status === 'False') return [`pod ${metadata.name} is not scheduled: ${unscheduled.message ?? ''}`];
  const waiting = (status?.containerStatuses ?? []).flatMap(({ name, state, lastState }) => {
    const { reason = '', message } = state?.waiting ?? {};
    if (reason === '' || reason === 'ContainerCreating') return [];
    const exit = lastState?.terminated?.exitCode;
    const crashed =
      exit === undefined
        ? ''
        : `; the container exited with ${exit}, see: kubectl -n ${namespace} logs ${metadata.name} -c ${name} --previous`;
    return [`pod ${metadata.name}, container ${name}: ${reason}${message ? `: ${message}` : ''}${crashed}`];
  });
  if (waiting.length > 0) return waiting;
  // Some reasons, such as a missing Secret, are not in the status of the pod but only in its events.
  const recent = await ignoreNotFound(
    client
      .resource<EventObject>(events, namespace)
      .list({ fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${metadata.name}` }),
  );
  const warning = recent?.items.filter(({ type }) => type === 'Warning').at(-1);
  return [
    `pod ${metadata.name} is not ready: ${warning?.message ?? of('Ready')?.message ?? 'the containers of the pod are starting'}`,
  ];
}
