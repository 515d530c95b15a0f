import {
  bytesOf,
  type CreatedInstance,
  type DriverDefinition,
  type DriverRequest,
  defineDriver,
  type FoundInstance,
  type Instance,
  type InterruptionRequest,
  isOthers,
  isText,
  listedTags,
  MachineError,
  type MachineRequest,
  ownerOf,
  ownerTags,
} from '@mcm/core/driver';
import { type Clock, sleep, type Transport } from '@mcm/kube';
import { PodBackend, type PodBackendOptions } from '../pods/backend.ts';
import { formatProviderId, instanceIdOf } from '../spec/provider-id.ts';
import { LocalCredentials, LocalProviderSpec } from '../spec/schemas.ts';
import { alternatives } from './alternatives.ts';
import { CloudClient, type CloudInstance } from './cloud-client.ts';
import { decodeLocal, isPods } from './decode.ts';
import { aborted } from './errors.ts';

/** The options of the driver for the local cloud. */
export interface LocalDriverOptions {
  readonly clock: Clock;
  /** Returns the connection to an address. The driver calls `connect` once for each address. */
  readonly connect: (endpoint: string) => Transport;
  readonly defaults?: { readonly endpoint?: string | undefined; readonly token?: string | undefined };
  /** The options for machines that are Pods. If `pods` is undefined, the driver does not support such machines. */
  readonly pods?: Pick<PodBackendOptions, 'connectCluster' | 'random'>;
  readonly backend?: 'cloud' | 'pod';
}

/** The driver of the local cloud, with its spec and credentials. */
export type LocalDriver = DriverDefinition<LocalProviderSpec, LocalCredentials>;

type Request = DriverRequest<LocalProviderSpec, LocalCredentials>;
type OnMachine = MachineRequest<LocalProviderSpec, LocalCredentials>;

/** The tag with the namespace of the Machine. */
export const NAMESPACE_TAG = 'machine-namespace';
/** Matches the tags that distinguish clusters in one cloud account, as on AWS. */
const OWNERSHIP_TAG = /^kubernetes\.io\/(cluster|role)\//;

const LIMIT_MS = 10 * 60_000;
const MISSES_BEFORE_ABSENT = 3;
const MISS_PAUSE_MS = 1_000;
const POD_PAUSE_MS = 20_000;

/** Creates the driver for the local cloud. */
export function createLocalDriver(options: LocalDriverOptions): LocalDriver {
  const clientFor = cloudClients(options);
  const { clock, backend = 'cloud', defaults } = options;
  const pods = options.pods && new PodBackend({ clock, ...options.pods });
  const podsFor = ({ credentials }: Request): PodBackend | undefined => {
    if (!isPods(credentials, backend)) return undefined;
    if (pods) return pods;
    throw new MachineError('Unimplemented', 'this process cannot create Pods: its driver has no cluster client');
  };
  return defineDriver({
    name: 'local',
    providerSpec: LocalProviderSpec,
    credentialsSchema: LocalCredentials,
    decode: (input) => decodeLocal(input, { backend, endpoint: defaults?.endpoint }),
    alternatives,

    create: async (request): Promise<CreatedInstance> => {
      const inPods = podsFor(request);
      if (inPods) return inPods.create(request);
      return describe(await launch(clientFor(request), request, clock));
    },

    status: async (request): Promise<FoundInstance> => {
      const inPods = podsFor(request);
      if (inPods) return inPods.status(request);
      const cloud = clientFor(request);
      const instance = await find(cloud, request, clock);
      if (!instance || instance.state === 'terminated') throw absent(request);
      return described(instance);
    },

    delete: async (request) => {
      const inPods = podsFor(request);
      if (inPods) return inPods.delete(request);
      await terminateAll(clientFor(request), request, clock);
      return undefined;
    },

    // The driver cannot stop, start or tag machines that are Pods.
    ...(backend === 'pod' ? {} : changes((request) => (podsFor(request) ? undefined : clientFor(request)), clock)),

    evidence: async (request) => {
      const inPods = podsFor(request);
      if (inPods) return { state: `the machine runs as pod ${(await inPods.status(request)).providerId}` };
      const cloud = clientFor(request);
      const instance = await find(cloud, request, clock);
      if (!instance) throw absent(request);
      const { id, state, stateReason, zone, createdAt } = instance;
      const because = stateReason ? ` (${stateReason})` : '';
      return {
        state: `instance ${id} of zone ${zone}, created at ${createdAt}, is ${state}${because}`,
        console: await cloud.console(id, request.signal),
      };
    },

    list: async (request) => {
      const inPods = podsFor(request);
      if (inPods) return inPods.list(request);
      const instances = await clientFor(request).list(ownershipFilter(request), request.signal);
      return instances.map((instance) => ({
        providerId: formatProviderId(instance),
        machineName: instance.name,
        createdAt: instance.createdAt,
        ...ownerOf(instance.tags),
        ...listedTags(instance.tags, request.tagKeys),
      }));
    },

    // Pods have no interruption notices, so for machines that are Pods, the method only waits.
    watchInterruptions: (request) =>
      podsFor(request) ? sleep(clock, POD_PAUSE_MS, request.signal) : reportNotices(clientFor(request), request),

    // Machines that are Pods have no volumes, so a drain does not wait for volumes.
    volumeIds: (sources) => sources.map(({ csi }) => (backend === 'pod' ? undefined : csi?.volumeHandle)),
  });
}

async function reportNotices(
  cloud: CloudClient,
  request: Request & Pick<InterruptionRequest<LocalProviderSpec, LocalCredentials>, 'notify'>,
): Promise<void> {
  const { notify, signal } = request;
  for (const { zone, instanceId, ...notice } of await cloud.interruptions(ownershipFilter(request), signal)) {
    const { id, kind, noticedAt, deadline, detail } = notice;
    const providerId = formatProviderId({ zone, id: instanceId });
    const answer = await notify({ id, providerId, kind, noticedAt, deadline, detail });
    if (answer === 'done') await ignoreAbsent(cloud.acknowledge(id, signal));
  }
}

async function launch(
  cloud: CloudClient,
  request: Parameters<typeof launchBody>[0],
  clock: Clock,
): Promise<CloudInstance> {
  const until = clock.now().getTime() + LIMIT_MS;
  let instance = await cloud.create(launchBody(request), request.signal);
  while (instance.state === 'pending') {
    requireTime(clock, until, `instance ${instance.id} is still pending`);
    instance = await cloud.untilRunning(instance.id, request.signal);
  }
  if (instance.state !== 'running') throw ended(instance);
  return instance;
}

/**
 * Returns the driver methods `stop`, `start` and `tag`.
 * @param cloudOf returns undefined if the machine is a Pod
 */
function changes(
  cloudOf: (request: Request) => CloudClient | undefined,
  clock: Clock,
): Required<Pick<LocalDriver, 'stop' | 'start' | 'tag'>> {
  const cloudFor = (request: Request): CloudClient => {
    const cloud = cloudOf(request);
    if (cloud) return cloud;
    throw new MachineError('Unimplemented', 'a Pod cannot be stopped or tagged');
  };
  return {
    stop: async (request) => settle(cloudFor(request), request, 'stopped', clock),
    start: async (request) => settle(cloudFor(request), request, 'running', clock),
    tag: async (request) => {
      const { machine, tags, signal } = request;
      await ignoreAbsent(cloudFor(request).setTags(requireInstanceId(machine.spec.providerID ?? ''), tags, signal));
    },
  };
}

async function settle(
  cloud: CloudClient,
  request: OnMachine,
  wanted: 'running' | 'stopped',
  clock: Clock,
): Promise<void> {
  const { machine, signal } = request;
  const until = clock.now().getTime() + LIMIT_MS;
  const id = requireInstanceId(machine.spec.providerID ?? '');
  for (;;) {
    const instance = await (wanted === 'running' ? cloud.start(id, signal) : cloud.stop(id, signal));
    if (instance.state === wanted) return;
    if (instance.state === 'shutting-down' || instance.state === 'terminated') throw absent(request);
    requireTime(clock, until, `instance ${id} is still ${instance.state}`);
  }
}

async function terminateAll(cloud: CloudClient, request: OnMachine, clock: Clock): Promise<void> {
  const until = clock.now().getTime() + LIMIT_MS;
  for (const id of await idsToDelete(cloud, request, clock)) {
    for (;;) {
      const instance = await ignoreAbsent(cloud.terminate(id, request.signal));
      if (!instance || instance.state === 'terminated') break;
      requireTime(clock, until, `instance ${id} is still ${instance.state}`);
    }
  }
}

/** Caches clients, so that their connections stay open between driver calls. */
function cloudClients({ clock, connect, defaults }: LocalDriverOptions): (request: Request) => CloudClient {
  const transports = new Map<string, Transport>();
  return ({ credentials }) => {
    const endpoint = (credentials.endpoint ?? defaults?.endpoint)?.replace(/\/+$/, '');
    if (endpoint === undefined) throw new MachineError('InvalidArgument', 'secret data.endpoint: is missing');
    let transport = transports.get(endpoint);
    if (!transport) {
      transport = connect(endpoint);
      transports.set(endpoint, transport);
    }
    return new CloudClient({ transport, clock, token: credentials.token ?? defaults?.token });
  };
}

function launchBody(request: OnMachine & { readonly userData: Uint8Array }): object {
  const { machine, spec } = request;
  const userData = bytesOf(request.userData);
  const { namespace, name, uid } = machine.metadata;
  return {
    name,
    // If a request with the same token is repeated, even by another process, the cloud returns the existing instance.
    clientToken: uid,
    image: spec.image,
    zone: spec.zone || undefined,
    machineType: spec.machineType || spec.instanceType || undefined,
    tags: { ...spec.tags, [NAMESPACE_TAG]: namespace ?? '', ...ownerTags(request) },
    volumes: spec.volumes?.map(({ sizeGi }) => ({ sizeGi })),
    bootLatency: spec.bootLatency || undefined,
    ...(isText(userData) ? { userData: userData.toString('utf8') } : { userDataBase64: userData.toString('base64') }),
  };
}

const describe = (instance: CloudInstance): Instance => ({
  providerId: formatProviderId(instance),
  nodeName: instance.name,
  addresses: [
    { type: 'InternalIP', address: instance.privateIp },
    { type: 'Hostname', address: instance.name },
  ],
});

const ENDINGS: Partial<Record<CloudInstance['state'], string>> = {
  'shutting-down': 'shutting down',
  stopping: 'being stopped',
  stopped: 'stopped',
};

const described = (instance: CloudInstance): FoundInstance => ({
  ...describe(instance),
  createdAt: instance.createdAt,
  ending: ENDINGS[instance.state],
});

const ended = ({ id, state, stateReason }: CloudInstance): MachineError =>
  new MachineError('Aborted', `instance ${id} is ${state}${stateReason ? `: ${stateReason}` : ''}`);

const absent = ({ machine }: OnMachine): MachineError =>
  new MachineError('NotFound', `instance of machine ${machine.metadata.name} does not exist`);

/**
 * Finds an instance by its provider ID, or by the name of the Machine if the provider ID is unknown.
 * @throws MachineError `OutOfRange` if several instances have the name
 */
async function find(cloud: CloudClient, request: OnMachine, clock: Clock): Promise<CloudInstance | undefined> {
  const { machine, signal } = request;
  if (machine.spec.providerID) {
    const id = requireInstanceId(machine.spec.providerID);
    return repeatMisses(clock, signal, () => ignoreAbsent(cloud.get(id, signal)));
  }
  // Even if the listing is outdated, the creation finds the existing VM by its client token.
  const [first, ...others] = await findUnrecorded(cloud, request);
  if (!first || others.length === 0) return first;
  const found = [first, ...others].map(described);
  const ids = found.map(({ providerId }) => providerId).join(', ');
  throw new MachineError('OutOfRange', `several instances have the name ${machine.metadata.name}: ${ids}`, { found });
}

/**
 * Returns the instance with the client token of the machine. If no instance has the client token, the instances with
 * the machine's name and the tags of the class are returned. Instances of other control clusters are never returned.
 */
async function findUnrecorded(cloud: CloudClient, request: OnMachine): Promise<readonly CloudInstance[]> {
  const { machine, signal } = request;
  const named = await cloud.list({ name: machine.metadata.name }, signal);
  const own = named.filter(({ clientToken }) => clientToken !== undefined && clientToken === machine.metadata.uid);
  if (own.length > 0) return own;
  const marks = Object.entries(ownershipFilter(request)).map(
    ([key, value]) => [key.slice('tag.'.length), value] as const,
  );
  return named.filter(
    ({ state, tags = {} }) =>
      (state === 'pending' || state === 'running') &&
      marks.every(([key, value]) => tags[key] === value) &&
      !isOthers(request, tags),
  );
}

/** Returns the IDs of the instances to delete. */
async function idsToDelete(cloud: CloudClient, request: OnMachine, clock: Clock): Promise<readonly string[]> {
  const { machine, signal } = request;
  if (machine.spec.providerID) return [requireInstanceId(machine.spec.providerID)];
  if (!machine.metadata.uid)
    throw new MachineError('InvalidArgument', 'a machine needs a provider ID or a UID to identify its instance');
  const found = await repeatMisses(clock, signal, async () => {
    const instances = await findUnrecorded(cloud, request);
    return instances.length > 0 ? instances : undefined;
  });
  return (found ?? []).map(({ id }) => id);
}

function requireInstanceId(providerId: string): string {
  const id = instanceIdOf(providerId);
  if (id === undefined)
    throw new MachineError(
      'InvalidArgument',
      `spec.providerID ${JSON.stringify(providerId)} is not a provider ID of this cloud: the format is local:///<zone>/<id>`,
    );
  return id;
}

async function repeatMisses<T>(
  clock: Clock,
  signal: AbortSignal,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let misses = 1; ; misses++) {
    const found = await look();
    if (found !== undefined || misses === MISSES_BEFORE_ABSENT) return found;
    await sleep(clock, MISS_PAUSE_MS, signal).catch((reason: unknown) => {
      throw signal.aborted ? aborted(signal) : reason;
    });
  }
}

async function ignoreAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof MachineError && error.code === 'NotFound') return undefined;
    throw error;
  }
}

function requireTime(clock: Clock, until: number, what: string): void {
  if (clock.now().getTime() >= until) throw new MachineError('DeadlineExceeded', what);
}

/**
 * Returns the filter of the listing. Without a filter, the VMs of other clusters would count as orphans, as in the
 * original local driver.
 */
function ownershipFilter({ machineClass, spec }: Request): Record<string, string> {
  const own = Object.entries(spec.tags ?? {}).filter(([key]) => OWNERSHIP_TAG.test(key));
  if (own.length > 0) return Object.fromEntries(own.map(([key, value]) => [`tag.${key}`, value]));
  return { [`tag.${NAMESPACE_TAG}`]: machineClass.metadata.namespace ?? '' };
}
