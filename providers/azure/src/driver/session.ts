import type { DriverContext, DriverRequest } from '@mcm/core/driver';
import { Arm, type ArmRequest } from '../arm/client.ts';
import { type CloudAddresses, cloudOf } from '../arm/clouds.ts';
import { createTokenSource, type Principal, type TokenOptions } from '../arm/tokens.ts';
import type { AzureSettings } from '../settings.ts';
import { Remembered } from './remembered.ts';
import type { AzureCredentials, AzureProviderSpec } from './schemas.ts';

/** What sessions are made with. Of the settings none counts for a class that names its cloud. */
export interface SessionOptions extends DriverContext, AzureSettings {
  readonly readFile: TokenOptions['readFile'];
  /** Value of the Authorization header, for clouds that want none of Microsoft's. */
  readonly authorize?: (scope: string, signal: AbortSignal) => Promise<string | undefined>;
  readonly version?: string;
}

/** A segment of a path, escaped as Go's `url.PathEscape` does it. */
const segment = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll(/%(24|26|2B|3A|3D|40)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

type Request = DriverRequest<AzureProviderSpec, AzureCredentials>;

/** What a principal keeps from one call to the next. */
interface Connection {
  readonly arm: Arm;
  readonly lookups: Remembered<unknown>;
}

/** Terms may be withdrawn and images published: neither is believed for longer. */
const LOOKUPS_KEPT_MS = 10 * 60_000;

/** A subscription's part of a cloud, and the paths in it that a class means. */
export class Session {
  readonly arm: Arm;
  /** Images and agreed terms by their requests' paths: the same for all machines of a class. */
  readonly lookups: Remembered<unknown>;
  readonly subscription: string;
  readonly group: string;

  constructor({ arm, lookups }: Connection, subscription: string, group: string) {
    this.arm = arm;
    this.lookups = lookups;
    this.subscription = subscription;
    this.group = group;
  }

  get #root(): string {
    if (this.subscription === '') throw new Error('parameter client.subscriptionID cannot be empty');
    return `/subscriptions/${segment(this.subscription)}`;
  }

  in(group: string, provider: string): string {
    return `${this.#root}/resourceGroups/${segment(group)}/providers/${provider}`;
  }

  vm(method: string, name: string, body?: object): ArmRequest {
    const path = `${this.in(this.group, 'Microsoft.Compute')}/virtualMachines/${segment(name)}`;
    return { method, path, version: '2023-07-01', ...(body ? { body } : {}) };
  }

  /** What the VM's own agents and the platform say of it now. */
  instanceView(name: string): ArmRequest {
    const { path, version } = this.vm('GET', name);
    return { method: 'GET', path: `${path}/instanceView`, version };
  }

  /** Addresses of the console's log and screenshot, good for a while. */
  bootDiagnostics(name: string): ArmRequest {
    const { path, version } = this.vm('POST', name);
    return { method: 'POST', path: `${path}/retrieveBootDiagnosticsData`, version };
  }

  disk(method: string, name: string, body?: object): ArmRequest {
    const path = `${this.in(this.group, 'Microsoft.Compute')}/disks/${segment(name)}`;
    return { method, path, version: '2023-04-02', ...(body ? { body } : {}) };
  }

  nic(method: string, name: string, body?: object): ArmRequest {
    const path = `${this.in(this.group, 'Microsoft.Network')}/networkInterfaces/${segment(name)}`;
    return { method, path, version: '2023-05-01', ...(body ? { body } : {}) };
  }

  subnet(group: string, network: string, name: string): ArmRequest {
    const at = this.in(group, 'Microsoft.Network');
    const path = `${at}/virtualNetworks/${segment(network)}/subnets/${segment(name)}`;
    return { method: 'GET', path, version: '2023-05-01' };
  }

  resourceGroup(): ArmRequest {
    const path = `${this.#root}/resourcegroups/${segment(this.group)}`;
    return { method: 'HEAD', path, version: '2021-04-01' };
  }

  image(location: string, urn: string): ArmRequest {
    const [publisher = '', offer = '', sku = '', version = ''] = urn.split(':').map(segment);
    const at = `${this.#root}/providers/Microsoft.Compute/locations/${segment(location)}`;
    const path = `${at}/publishers/${publisher}/artifacttypes/vmimage/offers/${offer}/skus/${sku}/versions/${version}`;
    return { method: 'GET', path, version: '2023-07-01' };
  }

  agreement(method: string, plan: { publisher: string; product: string; name: string }, body?: object): ArmRequest {
    const at = `${this.#root}/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine`;
    const [publisher, product, name] = [plan.publisher, plan.product, plan.name].map(segment);
    const path = `${at}/publishers/${publisher}/offers/${product}/plans/${name}/agreements/current`;
    return { method, path, version: '2021-01-01', ...(body ? { body } : {}) };
  }

  graph(body: object): ArmRequest {
    return {
      method: 'POST',
      path: '/providers/Microsoft.ResourceGraph/resources',
      version: '2021-06-01-preview',
      body,
    };
  }
}

/** The Secret's tenant can be nobody's. */
export class WrongTenant extends Error {
  override readonly name = 'WrongTenant';
}

/** Said where an operator may wonder why his endpoint is not asked. */
const OWN_CLOUD =
  'providerSpec.cloudConfiguration.name names a cloud, so its own endpoints are asked and not those of this controller’s flags or environment; leave cloudConfiguration out to have these asked';

/** Principals at once; those used least lately are forgotten. */
const KEPT = 64;

const first = (...values: (string | undefined)[]): string => (values.find((value) => value !== undefined) ?? '').trim();

/** Who gives the tokens. @throws WrongTenant */
export function tenantOf({ tenantID, azureTenantId }: AzureCredentials): string {
  const tenant = first(tenantID, azureTenantId);
  if (/^[\w.-]+$/.test(tenant)) return tenant;
  throw new WrongTenant(
    'invalid tenantID. You can locate your tenantID by following the instructions listed here: https://learn.microsoft.com/partner-center/find-ids-and-domain-names',
  );
}

/** Clients by cloud and principal, kept with their tokens and with what was learned of rates. @throws Error */
export function sessions(options: SessionOptions): (request: Request) => Session {
  const clients = new Map<string, Connection>();
  return ({ spec, credentials, log }) => {
    const tenant = tenantOf(credentials);
    const principal: Principal = {
      tenant,
      clientId: first(credentials.clientID, credentials.azureClientId),
      proof: credentials.workloadIdentityTokenFile?.trim()
        ? { tokenFile: credentials.workloadIdentityTokenFile.trim() }
        : { secret: first(credentials.clientSecret, credentials.azureClientSecret) },
    };
    const { name } = spec.cloudConfiguration ?? {};
    const key = JSON.stringify([name, principal]);
    let connection = clients.get(key);
    if (!connection) {
      if (name && (options.endpoint || options.login)) log.warn(OWN_CLOUD, { cloud: name });
      connection = {
        arm: connect(options, name, principal),
        lookups: new Remembered(options.clock, LOOKUPS_KEPT_MS),
      };
    }
    clients.delete(key);
    clients.set(key, connection);
    for (const [oldest] of clients) if (clients.size > KEPT) clients.delete(oldest);
    const subscription = first(credentials.subscriptionID, credentials.azureSubscriptionId);
    return new Session(connection, subscription, spec.resourceGroup ?? '');
  };
}

const BEARER = 'Bearer ';

function connect(options: SessionOptions, name: string | undefined, principal: Principal): Arm {
  const { clock, random, connect: reach, readFile, version = '0.1.0' } = options;
  const { management, login, scope } = addressesOf(options, name);
  const token = createTokenSource(principal, { management, login, scope }, { clock, connect: reach, readFile });
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
  });
}

/** The class's own cloud; without one the operator's, with the addresses that he gives in place of its own. */
function addressesOf({ cloud, endpoint, login }: AzureSettings, named: string | undefined): CloudAddresses {
  if (named) return cloudOf(named);
  return { ...cloudOf(cloud), ...(endpoint ? { management: endpoint } : {}), ...(login ? { login } : {}) };
}
