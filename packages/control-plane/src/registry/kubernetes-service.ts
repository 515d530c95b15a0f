import { createHash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Timer } from '../apimachinery/objects/clock.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { jsonEquals } from '../apimachinery/objects/object-text.ts';
import { items, look, text } from '../apimachinery/objects/plain.ts';
import { randomUid } from '../apimachinery/objects/uid.ts';
import { FIRST_SERVICE_ADDRESS } from '../kinds/core/service-ports.ts';
import type { Call, Registry } from '../resources/registry.ts';
import { ensureObject } from './bootstrap.ts';
import { updateObject } from './writes/update.ts';

const NAMESPACE = 'default';
const NAME = 'kubernetes';
const SERVICE_PORT = 443;
const PORT_NAME = 'https';
const MANAGER = 'kube-apiserver';
const INTERVAL_MS = 10_000;

const SKIP_MIRROR = 'endpointslice.kubernetes.io/skip-mirror';
const SERVICE_NAME = 'kubernetes.io/service-name';

const ENDPOINTS = '/endpoints';
const SLICES = 'discovery.k8s.io/endpointslices';
const RESOURCES = ['/services', ENDPOINTS, SLICES] as const;

export interface Advertised {
  /** An IPv4 address outside of 127.0.0.0/8, because the API refuses a loopback address in Endpoints. */
  readonly address: string;
  readonly port: number;
}

const DEFAULT_PORT = 6443;
/** The default address belongs to the block for documentation (RFC 5737). */
const NO_ADDRESS = '192.0.2.1';

const hostAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/**
 * Like kube-apiserver, a server on the loopback address advertises the first address of its host.
 * @param port The port of the server socket.
 */
export const advertisedBy = (address: string | undefined, port: number | undefined): Advertised => ({
  address: address ?? (port === undefined ? undefined : hostAddress()) ?? NO_ADDRESS,
  port: port ?? DEFAULT_PORT,
});

const metadata = (labels: Readonly<Record<string, string>>) => ({ name: NAME, namespace: NAMESPACE, labels });

const serviceOf = ({ port }: Advertised): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata({ component: 'apiserver', provider: 'kubernetes' }),
  spec: {
    type: 'ClusterIP',
    clusterIP: FIRST_SERVICE_ADDRESS,
    ipFamilyPolicy: 'SingleStack',
    sessionAffinity: 'None',
    ports: [{ name: PORT_NAME, protocol: 'TCP', port: SERVICE_PORT, targetPort: port }],
  },
});

/**
 * The IPAddress object that reserves the address of the Service. kube-apiserver creates the IPAddress together with the
 * Service.
 */
const ADDRESS: ApiObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IPAddress',
  metadata: {
    name: FIRST_SERVICE_ADDRESS,
    labels: {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    },
  },
  spec: { parentRef: { resource: 'services', namespace: NAMESPACE, name: NAME } },
};

const subsetOf = ({ address, port }: Advertised) => ({
  addresses: [{ ip: address }],
  ports: [{ name: PORT_NAME, port, protocol: 'TCP' }],
});

const endpointsOf = (advertised: Advertised): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: metadata({ [SKIP_MIRROR]: 'true' }),
  subsets: [subsetOf(advertised)],
});

/** Returns the EndpointSlice of the Service. */
const sliceOf = (endpoints: ApiObject): ApiObject => {
  const [subset] = items(endpoints, 'subsets');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: metadata({ [SERVICE_NAME]: NAME }),
    addressType: 'IPv4',
    endpoints: items(subset, 'addresses').map((each) => ({
      addresses: [text(each, 'ip')],
      conditions: { ready: true },
    })),
    ports: items(subset, 'ports').map(({ name, port, protocol }) => ({ name, port, protocol })),
  };
};

class KubernetesService {
  readonly #registry: Registry;
  readonly #call: Call;
  readonly #advertised: Advertised;
  #created = 0;

  constructor(registry: Registry, call: Call, advertised: Advertised) {
    this.#registry = registry;
    this.#call = call;
    this.#advertised = advertised;
  }

  /**
   * Creates missing objects of the Service, and restores the addresses of changed objects.
   * @param isStart Whether the server has just started.
   */
  async reconcile(isStart: boolean): Promise<void> {
    await this.#ensure(serviceOf(this.#advertised));
    await this.#ensure(ADDRESS);
    const endpoints = await this.#ensure(endpointsOf(this.#advertised));
    if (!this.#isCorrect(endpoints, isStart)) {
      const wanted = subsetOf(this.#advertised);
      await this.#update(endpoints, (live) => {
        live.metadata.labels = { ...live.metadata.labels, [SKIP_MIRROR]: 'true' };
        const subsets = items(live, 'subsets');
        if (isStart || subsets.length !== 1) live.subsets = [wanted];
        else if (!this.#hasAddress(live)) live.subsets = [{ ...subsets[0], addresses: wanted.addresses }];
      });
    }
    await this.#reconcileSlice();
  }

  async #reconcileSlice(): Promise<void> {
    const endpoints = this.#stored(ENDPOINTS);
    if (endpoints === undefined) return;
    const wanted = sliceOf(endpoints);
    const slice = await this.#ensure(wanted);
    const facts = (object: ApiObject): unknown => [object.metadata.labels, object.endpoints, object.ports];
    if (jsonEquals(facts(slice), facts(wanted))) return;
    await this.#update(slice, (live) => {
      live.metadata.labels = wanted.metadata.labels ?? {};
      live.endpoints = wanted.endpoints;
      live.ports = wanted.ports;
    });
  }

  #hasAddress(endpoints: ApiObject): boolean {
    const subsets = items(endpoints, 'subsets');
    const addresses = items(subsets[0], 'addresses');
    return subsets.length === 1 && addresses.length === 1 && addresses[0]?.ip === this.#advertised.address;
  }

  #isCorrect(endpoints: ApiObject, isStart: boolean): boolean {
    const [subset] = items(endpoints, 'subsets');
    return (
      look(endpoints, 'metadata', 'labels')[SKIP_MIRROR] === 'true' &&
      this.#hasAddress(endpoints) &&
      (!isStart || jsonEquals(subset?.ports, subsetOf(this.#advertised).ports))
    );
  }

  /** Creates a missing object, and returns the stored object. */
  async #ensure(object: ApiObject): Promise<ApiObject> {
    const { resource } = this.#served(object);
    const seed = `${resource} ${this.#registry.now().getTime()} ${this.#created++}`;
    const bytes = [...createHash('sha256').update(seed).digest()];
    const uid = randomUid(() => (bytes.shift() ?? 0) / 256);
    await ensureObject(this.#registry, this.#call, object, MANAGER, uid);
    return (
      this.#stored(resource, object.metadata.namespace === undefined ? '' : NAMESPACE, object.metadata.name) ?? object
    );
  }

  #served({ apiVersion, kind }: ApiObject) {
    const served = this.#registry.kinds.byKind(apiVersion, kind);
    if (served === undefined) throw new Error(`no kind ${kind} in ${apiVersion} is served`);
    return served;
  }

  #stored(resource: string, namespace = NAMESPACE, name = NAME): ApiObject | undefined {
    const record = this.#registry.store.get(resource, namespace, name);
    return record === undefined ? undefined : (JSON.parse(record.json) as ApiObject);
  }

  async #update(object: ApiObject, change: (live: ApiObject) => void): Promise<void> {
    const target = { served: this.#served(object), namespace: NAMESPACE, name: NAME, subresource: '' };
    const next = (live: () => ApiObject): ApiObject => {
      const changed = live();
      change(changed);
      return changed;
    };
    const options = { dryRun: false, fieldManager: MANAGER, fieldValidation: 'Ignore', force: false } as const;
    await updateObject(this.#registry, this.#call, target, { next }, options);
  }
}

/**
 * Restores the Service `default/kubernetes`, its Endpoints and its EndpointSlice if a client deletes them or changes
 * their addresses. As in kube-apiserver, no controller is necessary.
 * @param onError Receives the error of a failed check. The function repeats the check after `INTERVAL_MS`. @see
 * kubernetes pkg/controlplane/controller/kubernetesservice, pkg/controlplane/reconcilers
 */
export async function keepKubernetesService(
  registry: Registry,
  call: Call,
  advertised: Advertised,
  onError: (error: unknown) => void,
): Promise<() => void> {
  const { store, clock } = registry;
  const service = new KubernetesService(registry, call, advertised);
  const start = clock.now().getTime();
  let timer: Timer | undefined;
  let isStopped = false;

  const schedule = (): void => {
    if (timer !== undefined || isStopped) return;
    const passed = (clock.now().getTime() - start) % INTERVAL_MS;
    timer = clock.setTimeout(() => {
      timer = undefined;
      void compare(false);
    }, INTERVAL_MS - passed);
  };
  const compare = async (isStart: boolean): Promise<void> => {
    if (isStopped) return;
    try {
      await service.reconcile(isStart);
    } catch (error) {
      onError(error);
      schedule();
    }
  };

  await compare(true);
  const unsubscribes = RESOURCES.map((resource) =>
    store.subscribe(resource, ({ record: { namespace, name } }) => {
      if (namespace === NAMESPACE && name === NAME) schedule();
    }),
  );
  return () => {
    isStopped = true;
    timer?.cancel();
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
