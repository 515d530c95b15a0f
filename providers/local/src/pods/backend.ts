import { createHash } from 'node:crypto';
import {
  type CreatedInstance,
  type CreateRequest,
  type DriverRequest,
  type FoundInstance,
  type Instance,
  isOthers,
  type ListedInstance,
  MachineError,
  type MachineRequest,
  ownerOf,
  ownerTags,
  refuseOthers,
} from '@mcm/core/driver';
import {
  type Clock,
  type ClusterConfig,
  createClient,
  type KubeClient,
  type KubeObject,
  type Pod,
  pods,
  type Random,
  type ResourceClient,
  type ResourceDefinition,
  secrets,
  sleep,
  type Transport,
} from '@mcm/kube';
import type { LocalCredentials, LocalProviderSpec } from '../spec/schemas.ts';
import { fromApi, ignoreAbsent, isAbsent } from './errors.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { FIELD_MANAGER, PREFIX, podName, podOf, SELECTOR, secretName, serviceOf, userDataSecretOf } from './objects.ts';
import { whyNotRunning } from './why-not-running.ts';

export interface PodBackendOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Connects to the cluster of a kubeconfig. The driver calls `connectCluster` once for each kubeconfig. */
  readonly connectCluster: (config: ClusterConfig) => Transport;
}

type Request = DriverRequest<LocalProviderSpec, LocalCredentials>;
type OnMachine = MachineRequest<LocalProviderSpec, LocalCredentials>;

const services: ResourceDefinition<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

/** The driver reads the Pod every `LOOK_MS`, for at most `LIMIT_MS`, as in the original. */
const LOOK_MS = 5_000;
const LIMIT_MS = 600_000;
/** The time before the first report that a Pod is still waiting. Most Pods become ready earlier. */
const TELL_AFTER_MS = 15_000;
const TELL_AGAIN_MS = 60_000;
const PAGE = 500;
/** The Service of a Pod has the name of the Pod, so the name must be a DNS label. */
const LONGEST_LABEL = 63;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/**
 * Runs each machine as a Pod in the cluster of the Secret's kubeconfig. The backend is for clusters of the tool
 * kind.
 */
export class PodBackend {
  readonly #options: PodBackendOptions;
  readonly #clients = new Map<string, KubeClient>();

  constructor(options: PodBackendOptions) {
    this.#options = options;
  }

  /**
   * Creates the Pod, and then its Secret and its Service, which the Pod owns. The promise resolves when the Pod runs.
   */
  async create(request: CreateRequest<LocalProviderSpec, LocalCredentials>): Promise<CreatedInstance> {
    const { machine, spec, userData, signal } = request;
    const namespace = namespaceOf(request);
    requireLabel(machine.metadata.name);
    const client = this.#client(request);
    const apply = <T extends KubeObject>(kind: ResourceDefinition<T>, body: { metadata: { name: string } }) => {
      const patch = { type: 'apply', body, fieldManager: FIELD_MANAGER, force: true } as const;
      return client.resource(kind, namespace).patch(body.metadata.name, patch, { signal, onRetryAfter: 'throw' });
    };
    try {
      // A Pod that is being deleted cannot be used. The API server accepts an apply for a Pod in deletion, but deletes
      // the Pod anyway.
      const { metadata } = await apply(pods, podOf(machine, spec, namespace, ownerTags(request)));
      if (metadata.deletionTimestamp !== undefined)
        throw new MachineError('Aborted', `pod ${metadata.name} of an earlier machine is being deleted`);
      await apply(secrets, userDataSecretOf(machine, userData, metadata, namespace));
      await apply(services, serviceOf(machine, metadata, namespace));
    } catch (thrown) {
      throw fromApi(thrown, signal, 'Internal');
    }
    return describe(await this.#untilRunning(client, namespace, request));
  }

  /**
   * Returns the status of a Pod. Before the creation is recorded, a Pod without its Secret or its Service counts as
   * missing. The repeated creation adds the missing objects of the Pod. The original adopts the incomplete Pod, which
   * never starts.
   */
  async status(request: OnMachine): Promise<FoundInstance> {
    const { machine, signal } = request;
    const { name } = machine.metadata;
    const namespace = namespaceOf(request);
    const client = this.#client(request);
    const find = <T extends KubeObject>(kind: ResourceDefinition<T>, of: string): Promise<T | undefined> =>
      ignoreAbsent(client.resource(kind, namespace).get(of, { signal, onRetryAfter: 'throw' }));
    try {
      const pod = await find(pods, podName(name));
      if (!pod) throw new MachineError('NotFound', `pod ${podName(name)} does not exist in namespace ${namespace}`);
      if (machine.spec.providerID) return describe(pod);
      refuseOthers(request, pod.metadata.labels);
      if (pod.metadata.deletionTimestamp !== undefined) return { ...describe(pod), ending: 'being deleted' };
      const parts = await Promise.all([find(secrets, secretName(name)), find(services, podName(name))]);
      if (parts.includes(undefined))
        throw new MachineError('NotFound', `pod ${podName(name)} is not complete: its Secret or Service is missing`);
      return describe(pod);
    } catch (thrown) {
      throw fromApi(thrown, signal, 'Internal');
    }
  }

  /**
   * The promise resolves when the Pod no longer exists, because a kubelet that still runs would register its Node
   * again.
   */
  async delete(request: OnMachine): Promise<undefined> {
    const { machine, signal } = request;
    const { clock } = this.#options;
    const namespace = namespaceOf(request);
    const client = this.#client(request).resource(pods, namespace);
    const name = podName(machine.metadata.name);
    try {
      await this.#refuseToDelete(client, request, name);
      await client.delete(name, { signal, onRetryAfter: 'throw' });
    } catch (thrown) {
      if (isAbsent(thrown)) throw new MachineError('NotFound', `pod ${name} does not exist in namespace ${namespace}`);
      throw fromApi(thrown, signal, 'Unknown');
    }
    const until = clock.now().getTime() + LIMIT_MS;
    for (;;) {
      await this.#pause(signal);
      try {
        if (!(await ignoreAbsent(client.get(name, { signal, onRetryAfter: 'throw' })))) return undefined;
      } catch (thrown) {
        throw fromApi(thrown, signal, 'DeadlineExceeded');
      }
      if (clock.now().getTime() >= until)
        throw new MachineError('DeadlineExceeded', `pod ${name} still exists ten minutes after its deletion`);
    }
  }

  /** Throws if the Pod of a machine without a provider ID belongs to another control cluster. */
  async #refuseToDelete(client: ResourceClient<Pod>, request: OnMachine, name: string): Promise<void> {
    const { machine, signal, owner } = request;
    if (machine.spec.providerID || owner === undefined) return;
    const pod = await ignoreAbsent(client.get(name, { signal, onRetryAfter: 'throw' }));
    if (isOthers(request, pod?.metadata.labels))
      throw new MachineError('NotFound', `another control cluster created pod ${name}`);
  }

  /** Lists the machines in the namespace of the class. Other namespaces may contain machines of other clusters. */
  async list(request: Request): Promise<readonly ListedInstance[]> {
    const { signal } = request;
    const client = this.#client(request).resource(pods, namespaceOf(request));
    const found: ListedInstance[] = [];
    let next: string | undefined;
    try {
      do {
        const options = { labelSelector: SELECTOR, limit: PAGE, signal, onRetryAfter: 'throw' } as const;
        const page = await client.list(next === undefined ? options : { ...options, continue: next });
        for (const { metadata } of page.items) {
          const { name, creationTimestamp: createdAt, labels } = metadata;
          found.push({ providerId: name, machineName: name.replace(PREFIX, ''), createdAt, ...ownerOf(labels) });
        }
        next = page.metadata.continue || undefined;
      } while (next !== undefined);
    } catch (thrown) {
      throw fromApi(thrown, signal, 'Internal');
    }
    return found;
  }

  async #untilRunning(
    client: KubeClient,
    namespace: string,
    request: CreateRequest<LocalProviderSpec, LocalCredentials>,
  ): Promise<Pod> {
    const { machine, signal, waitsFor } = request;
    const { clock } = this.#options;
    const name = podName(machine.metadata.name);
    const since = clock.now().getTime();
    let reportAt = since + TELL_AFTER_MS;
    for (;;) {
      const pod = await client
        .resource(pods, namespace)
        .get(name, { signal, onRetryAfter: 'throw' })
        .catch((thrown: unknown) => {
          throw fromApi(thrown, signal, 'DeadlineExceeded');
        });
      if (pod.status?.phase === 'Running') return pod;
      const now = clock.now().getTime();
      const why = whyNotRunning(pod);
      if (now >= since + LIMIT_MS)
        throw new MachineError('DeadlineExceeded', `pod ${name} is not running after ten minutes: the pod is ${why}`);
      if (now >= reportAt) {
        waitsFor?.(`pod ${name} in namespace ${namespace} is ${why}`);
        reportAt = now + TELL_AGAIN_MS;
      }
      await this.#pause(signal);
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    await sleep(this.#options.clock, LOOK_MS, signal).catch((thrown: unknown) => {
      throw fromApi(thrown, signal, 'Unknown');
    });
  }

  /** Caches clients, so that their connections stay open between driver calls. */
  #client({ credentials }: Request): KubeClient {
    const { clock, random, connectCluster } = this.#options;
    const { kubeconfig = '' } = credentials;
    const key = createHash('sha256').update(kubeconfig).digest('base64url');
    const known = this.#clients.get(key);
    if (known) return known;
    const transport = connectCluster(parseKubeconfig(kubeconfig));
    const client = createClient({ transport, clock, random, userAgent: FIELD_MANAGER });
    this.#clients.set(key, client);
    return client;
  }
}

/** Returns the namespace of the Pods: from the provider spec, or else from the Machine, or else from the class. */
function namespaceOf(request: Request & { readonly machine?: OnMachine['machine'] }): string {
  const { spec, machine, machineClass } = request;
  return spec.namespace || machine?.metadata.namespace || machineClass.metadata.namespace || 'default';
}

function requireLabel(machineName: string): void {
  const name = podName(machineName);
  if (name.length <= LONGEST_LABEL && LABEL.test(name)) return;
  throw new MachineError(
    'InvalidArgument',
    `metadata.name: "${machineName}" is invalid: ${name} must be a DNS label of at most ${LONGEST_LABEL} characters; rename the deployment`,
  );
}

const podIps = (pod: Pod): readonly string[] => {
  const ips = pod.status?.podIPs;
  return Array.isArray(ips)
    ? ips.flatMap((each: unknown) =>
        typeof each === 'object' && each !== null && 'ip' in each && typeof each.ip === 'string' ? [each.ip] : [],
      )
    : [];
};

const describe = (pod: Pod): Instance => ({
  providerId: pod.metadata.name,
  nodeName: pod.metadata.name,
  addresses: podIps(pod).map((address) => ({ type: 'InternalIP', address })),
});
