import type {
  RetrieveBootDiagnosticsDataResult,
  VirtualMachine,
  VirtualMachineImage,
  VirtualMachineInstanceView,
} from '@azure/arm-compute';
import { type DriverContext, type DriverRequest, type MachineRequest, SharedLookup } from '@mcm/core/driver';
import { type Clock, withoutUndefined } from '@mcm/kube';
import { Arm, type CallOptions, type Poller, type Provisioned, type Read } from '../arm/client.ts';
import { type CloudAddresses, cloudOf } from '../arm/clouds.ts';
import { Remembered } from '../arm/remembered.ts';
import type { Clients } from '../arm/sdk.ts';
import type { AzureSettings } from '../arm/settings.ts';
import { createTokenSource, type Principal, type TokenOptions } from '../arm/tokens.ts';
import { checkPrincipal, firstOf, principalOf } from './principal.ts';
import type { AzureCredentials, AzureProviderSpec } from './schemas.ts';

/** If a class names its cloud, the addresses in these settings have no effect. */
export interface SessionOptions extends DriverContext, AzureSettings {
  readonly readFile: TokenOptions['readFile'];
  readonly authorize?: ((scope: string, signal: AbortSignal) => Promise<string | undefined>) | undefined;
  readonly version?: string;
}

/** Escapes a path segment like `url.PathEscape` of Go. */
const segment = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll(/%(24|26|2B|3A|3D|40)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

export type Request = DriverRequest<AzureProviderSpec, AzureCredentials>;

export type OnMachine = MachineRequest<AzureProviderSpec, AzureCredentials>;

/** Changes of the power state of a VM. */
export type PowerVerb = 'deallocate' | 'start';

/** The clients and tokens of a principal. */
interface Connection {
  readonly arm: Arm;
  readonly images: Remembered<VirtualMachineImage>;
  readonly terms: Remembered<unknown>;
  /** The shared lookups of VMs, by subscription and resource group. */
  readonly lookups: Map<string, SharedLookup<VirtualMachine>>;
}

const FEW_VMS = 3;

/**
 * The time for which the driver caches images and accepted terms. Users may withdraw terms, and publishers may publish
 * new images.
 */
const LOOKUPS_KEPT_MS = 10 * 60_000;

type ClientOf<K extends keyof Clients> = Awaited<ReturnType<Clients[K]>>;

export class Session {
  readonly arm: Arm;
  /** The cached images and accepted terms, which all machines of a class share. */
  readonly images: Remembered<VirtualMachineImage>;
  readonly terms: Remembered<unknown>;
  readonly subscription: string;
  readonly group: string;

  readonly #lookups: Connection['lookups'];
  readonly #clock: Clock;

  constructor({ arm, images, terms, lookups }: Connection, clock: Clock, subscription: string, group: string) {
    this.arm = arm;
    this.images = images;
    this.terms = terms;
    this.#lookups = lookups;
    this.#clock = clock;
    this.subscription = subscription;
    this.group = group;
  }

  get #clients(): Clients {
    if (this.subscription === '') throw new Error('parameter client.subscriptionID cannot be empty');
    return this.arm.clients(this.subscription);
  }

  /**
   * Returns the ID of a resource.
   * @param kind for example `Microsoft.Compute/disks`
   */
  idOf(kind: string, name: string): string {
    return `/subscriptions/${segment(this.subscription)}/resourceGroups/${segment(this.group)}/providers/${kind}/${segment(name)}`;
  }

  async ask<K extends keyof Clients, T>(
    kind: K,
    send: (client: ClientOf<K>, options: CallOptions) => PromiseLike<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const client = (await this.#clients[kind]()) as ClientOf<K>;
    return this.arm.ask((options) => send(client, options), signal);
  }

  /** Runs an operation of the SDK. */
  async run<K extends keyof Clients, T>(
    kind: K,
    begin: (client: ClientOf<K>, options: CallOptions) => Poller<T>,
    { timeoutMs, signal, read }: Change<T>,
  ): Promise<T | undefined> {
    const client = (await this.#clients[kind]()) as ClientOf<K>;
    return this.arm.run((options) => begin(client, options), timeoutMs, signal, read);
  }

  readonly vm = (name: string) => (signal: AbortSignal) =>
    this.ask('compute', ({ virtualMachines }, options) => virtualMachines.get(this.group, name, options), signal);

  /**
   * Several waiting lookups share one listing of the resource group. If a VM is missing in the listing, it is read
   * directly, because a listing can be outdated.
   */
  async recordedVm(name: string, signal: AbortSignal): Promise<VirtualMachine> {
    const key = `${this.subscription}/${this.group}`;
    const known = this.#lookups.get(key);
    const shared =
      known ??
      new SharedLookup<VirtualMachine>(
        async (names, until) => (names.length < FEW_VMS ? [] : this.#vmsOfGroup(until)),
        (vm) => vm.name?.toLowerCase(),
        this.#clock,
        Number.POSITIVE_INFINITY,
      );
    if (!known) this.#lookups.set(key, shared);
    const [found] = await shared.find(name.toLowerCase(), signal);
    return found ?? this.vm(name)(signal);
  }

  #vmsOfGroup(signal: AbortSignal): Promise<readonly VirtualMachine[]> {
    return this.ask(
      'compute',
      ({ virtualMachines }, o) => Array.fromAsync(virtualMachines.list(this.group, o)),
      signal,
    );
  }

  vmWithView(name: string, signal: AbortSignal): Promise<VirtualMachine> {
    return this.ask(
      'compute',
      ({ virtualMachines: vms }, o) => vms.get(this.group, name, { ...o, expand: 'instanceView' }),
      signal,
    );
  }

  power(verb: PowerVerb, name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const begin = ({ virtualMachines }: ClientOf<'compute'>, options: CallOptions) =>
      virtualMachines[verb](this.group, name, options);
    return this.run('compute', begin, { timeoutMs, signal });
  }

  /** Changes tags of a VM, and keeps all other tags. */
  async changeTags(
    operation: 'Merge' | 'Delete',
    name: string,
    tags: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const body = { operation, properties: { tags } };
    await this.ask(
      'rest',
      async (rest, { abortSignal }) =>
        rest
          .path(TAGS, this.subscription, this.group, name)
          .patch({ abortSignal, queryParameters: { 'api-version': '2021-04-01' }, body }),
      signal,
    );
  }

  /** Reads the status reports about a VM: the reports of Azure and of the agents on the VM. */
  instanceView(name: string, signal: AbortSignal): Promise<VirtualMachineInstanceView> {
    return this.ask('compute', ({ virtualMachines: vms }, o) => vms.instanceView(this.group, name, o), signal);
  }

  /** Returns the URLs of the boot diagnostics. */
  bootDiagnostics(name: string, signal: AbortSignal): Promise<RetrieveBootDiagnosticsDataResult> {
    return this.ask(
      'compute',
      ({ virtualMachines: vms }, o) => vms.retrieveBootDiagnosticsData(this.group, name, o),
      signal,
    );
  }

  readonly disk = (name: string) => (signal: AbortSignal) =>
    this.ask('compute', ({ disks }, options) => disks.get(this.group, name, options), signal);

  readonly nic = (name: string) => (signal: AbortSignal) =>
    this.ask('network', ({ networkInterfaces }, options) => networkInterfaces.get(this.group, name, options), signal);

  deleteVm(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const begin = ({ virtualMachines }: ClientOf<'compute'>, options: CallOptions) =>
      virtualMachines.delete(this.group, name, options);
    return this.run('compute', begin, { timeoutMs, signal });
  }

  deleteNic(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const begin = ({ networkInterfaces }: ClientOf<'network'>, options: CallOptions) =>
      networkInterfaces.delete(this.group, name, options);
    return this.run('network', begin, { timeoutMs, signal });
  }

  deleteDisk(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const begin = ({ disks }: ClientOf<'compute'>, options: CallOptions) => disks.delete(this.group, name, options);
    return this.run('compute', begin, { timeoutMs, signal });
  }

  /** Reads the terms of a marketplace image, or changes them to `body`. */
  async agreement({ publisher, product, name }: Plan, signal: AbortSignal, body?: object): Promise<unknown> {
    const terms = await this.ask(
      'rest',
      async (rest, { abortSignal }) => {
        const at = rest.path(TERMS, this.subscription, publisher, product, name);
        const options = { abortSignal, queryParameters: { 'api-version': '2021-01-01' } };
        return body ? at.put({ ...options, body }) : at.get(options);
      },
      signal,
    );
    return terms.body;
  }

  /**
   * Returns the HTTP status of a request for the resource group of the class. The status 204 means that the group
   * exists.
   */
  async groupStatus(signal: AbortSignal): Promise<string> {
    const { status } = await this.ask(
      'rest',
      async (rest, { abortSignal }) =>
        rest
          .path('/subscriptions/{subscription}/resourcegroups/{group}', this.subscription, this.group)
          .head({ abortSignal, queryParameters: { 'api-version': '2021-04-01' } }),
      signal,
    );
    return status;
  }
}

export interface Change<T> {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Reads the resource after the change. */
  readonly read?: Read<T & Provisioned>;
}

export interface Plan {
  readonly publisher: string;
  readonly product: string;
  readonly name: string;
}

const TERMS =
  '/subscriptions/{subscription}/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/{publisher}/offers/{offer}/plans/{plan}/agreements/current';

const TAGS =
  '/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines/{name}/providers/Microsoft.Resources/tags/default';

const OWN_CLOUD =
  'providerSpec.cloudConfiguration.name takes precedence over endpoints in flags and environment; to use these endpoints, remove cloudConfiguration';

/** The maximum number of cached principals. The least recently used principal is removed first. */
const KEPT = 64;

/**
 * Returns a function that opens sessions. The function caches clients by cloud and principal. A cached client keeps
 * its tokens and learned rates.
 * @throws WrongPrincipal
 */
export function sessions(options: SessionOptions): (request: Request) => Session {
  const clients = new Map<string, Connection>();
  return ({ spec, credentials, log }) => {
    const principal = principalOf(credentials, options.allowManagedIdentity);
    const { name } = spec.cloudConfiguration ?? {};
    const key = JSON.stringify([name, principal]);
    let connection = clients.get(key);
    if (!connection) {
      checkPrincipal(principal);
      if (name && (options.endpoint || options.login)) log.warn(OWN_CLOUD, { cloud: name });
      connection = {
        arm: connect(options, name, principal),
        images: new Remembered(options.clock, LOOKUPS_KEPT_MS),
        terms: new Remembered(options.clock, LOOKUPS_KEPT_MS),
        lookups: new Map(),
      };
    }
    clients.delete(key);
    clients.set(key, connection);
    for (const [oldest] of clients) if (clients.size > KEPT) clients.delete(oldest);
    const subscription = firstOf(credentials.subscriptionID, credentials.azureSubscriptionId);
    return new Session(connection, options.clock, subscription, spec.resourceGroup ?? '');
  };
}

const BEARER = 'Bearer ';

function connect(options: SessionOptions, name: string | undefined, principal: Principal): Arm {
  const { clock, random, connect: reach, readFile, version = '0.1.0' } = options;
  const { management, login, scope } = addressesOf(options, name);
  const { metadata } = options;
  const token = createTokenSource(
    principal,
    { management, login, scope },
    { clock, random, connect: reach, readFile, metadata: metadata || undefined },
  );
  const authorize = async (signal: AbortSignal): Promise<string | undefined> =>
    options.authorize ? options.authorize(scope, signal) : `${BEARER}${await token.get(signal)}`;
  const refused = (authorization: string): void => token.refused(authorization.slice(BEARER.length));
  return new Arm({
    clock,
    random,
    connect: reach,
    endpoint: management,
    userAgent: `mcm/${version}`,
    authorize,
    refused,
    rates: options.rates?.of(['azure', management, principal]),
  });
}

/**
 * Returns the addresses of the cloud that the class names. If the class names no cloud, the addresses of the operator
 * are used.
 */
function addressesOf({ cloud, endpoint, login }: AzureSettings, named: string | undefined): CloudAddresses {
  if (named) return cloudOf(named);
  return { ...cloudOf(cloud), ...withoutUndefined({ management: endpoint || undefined, login: login || undefined }) };
}
