import type { Clock, Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import { Faults, type OperationFault } from '../faults/faults.ts';
import { BearerTokens, headerOf } from '../login/tokens.ts';
import type { Power } from '../machines/power.ts';
import { jsonAnswer as answer } from '../server/answer.ts';
import type { Emulator, InterruptionOrder, ListedResource } from '../server/emulator.ts';
import { type EmulatorStore, Kept } from '../server/kept.ts';
import { reported, view, withView } from './answers.ts';
import { graphBody, graphRows } from './graph.ts';
import { answerLogin, answerMetadata, type HostIdentities, type Principal } from './login.ts';
import { type Label, labelOf, pathOf } from './paths.ts';
import { Resources } from './resources.ts';
import type { AzureCloud } from './sovereign.ts';

/** The options of an emulated Azure Resource Manager. */
export interface ArmEndpointOptions {
  readonly clock: Clock;
  readonly pageSize?: number | undefined;
  readonly operationMs?: number;
  readonly graphLagMs?: number;
  /** Responses link to operations below this base URL. */
  readonly origin?: string;
  /** The applications that can log in. If `principals` is undefined, requests need no token. */
  readonly principals?: readonly Principal[] | undefined;
  /** The managed identities of the host. If `identities` is undefined, the login service accepts every identity. */
  readonly identities?: HostIdentities | undefined;
  /** The purchase plans of marketplace images, by URN. An image that is not in `plans` has no plan. */
  readonly plans?: Readonly<
    Record<string, { readonly name: string; readonly publisher: string; readonly product: string }>
  >;
  /** The names of the existing resource groups. */
  readonly groups?: readonly string[];
  readonly power?: Power;
  readonly store?: EmulatorStore;
  /**
   * The sovereign cloud of the endpoint. If `cloud` is undefined, the endpoint is the public cloud and accepts tokens
   * of every audience.
   */
  readonly cloud?: AzureCloud;
  /**
   * Fault rules and request counts that several clouds share. If `shared` is undefined, the endpoint creates its own
   * rules and counts.
   */
  readonly shared?: { readonly faults: Faults; readonly counts: Map<string, number> };
}

const PUBLIC = 'https://management.azure.com';

/**
 * Emulates the parts of Azure Resource Manager that the driver uses: VMs with their NICs and disks, operations,
 * Resource Graph and logins.
 */
export class ArmEndpoint implements Emulator {
  readonly faults: Faults;
  readonly counts: Map<string, number>;
  readonly transport: Transport;
  readonly #options: ArmEndpointOptions;
  readonly #resources: Resources;
  readonly #accepted: Kept<{ readonly accepted: boolean }>;
  readonly #tokens: BearerTokens;

  constructor(given: ArmEndpointOptions) {
    const { clock, store, cloud, shared } = given;
    const options = cloud ? { ...given, origin: `https://${cloud.management}` } : given;
    this.#options = options;
    this.faults = shared?.faults ?? new Faults(clock);
    this.counts = shared?.counts ?? new Map();
    this.#resources = new Resources(options);
    this.#accepted = new Kept('arm-agreement', store);
    this.#tokens = new BearerTokens(clock, `${cloud?.name ?? ''}${JSON.stringify(options.principals ?? [])}`);
    this.transport = this.faults.before((request, fault) => this.#receive(request, fault), labelText, {
      refuse: (_, { status, code, message, retryAfter }) =>
        refusal(status, code, message, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      throttle: (_, retryAfter) =>
        refusal(
          429,
          'TooManyRequests',
          'The request is being throttled.',
          retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
        ),
    });
  }

  ids(): readonly string[] {
    return this.#resources.all().map(({ id }) => id);
  }

  resources(): readonly ListedResource[] {
    const kinds = { virtualMachines: 'instance', disks: 'disk', networkInterfaces: 'networkInterface' } as const;
    return this.#resources
      .all()
      .map(({ id, name, kind, state, power }) => ({ kind: kinds[kind], id, name, state: stateOf(state, power) }));
  }

  /** Adds a resource that a user created without the driver. */
  place(id: string, body: object): void {
    this.#resources.place(id, body);
  }

  interrupt(name: string, order: InterruptionOrder): boolean {
    return this.#resources.interrupt(name, order);
  }

  resume(): void {
    this.#resources.resume();
  }

  async #receive(request: TransportRequest, fault: OperationFault): Promise<TransportResponse> {
    const { method, path, body = '', headers } = request;
    const url = new URL(path, PUBLIC);
    const label = labelOf(method, url.pathname);
    const { cloud } = this.#options;
    const name = `${cloud ? `${cloud.name} ` : ''}${labelText(request)}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    const { principals } = this.#options;
    const login =
      answerLogin(url.pathname, body, this.#options, this.#tokens) ??
      answerMetadata(url, headerOf(headers, 'metadata'), this.#options, this.#tokens);
    if (login) return login;
    if (principals && !this.#tokens.admits(headerOf(headers, 'authorization')))
      return refusal(
        401,
        'InvalidAuthenticationToken',
        'The access token is missing, expired, or belongs to another account.',
      );
    if (!url.searchParams.has('api-version') && label.kind !== 'operations')
      return refusal(400, 'MissingApiVersionParameter', 'The api-version query parameter is required.');
    return this.#answer(label, url, body, fault);
  }

  #answer(label: Label, url: URL, body: string, fault: OperationFault): TransportResponse {
    const { method, kind } = label;
    const { pathname } = url;
    switch (kind) {
      case 'operations':
        return this.#operation(pathname.split('/').at(-1) ?? '');
      case 'graph':
        return this.#graph(body);
      case 'resourceGroups':
        return this.#hasGroup(pathOf(pathname).group) ? answer(204) : answer(404);
      case 'subnets':
        return answer(200, {
          id: pathname,
          name: pathname.split('/').at(-1),
          properties: { provisioningState: 'Succeeded' },
        });
      case 'instanceView': {
        const vm = this.#resources.get(pathname.replace(/\/instanceView$/i, ''));
        return vm
          ? answer(200, view(vm))
          : refusal(404, 'ResourceNotFound', `The Resource of ${pathname} was not found.`);
      }
      case 'tags':
        return method === 'PATCH'
          ? this.#resources.changeTags(pathname.replace(/\/providers\/Microsoft\.Resources\/tags\/default$/i, ''), body)
          : refusal(405, 'MethodNotAllowed', `${method} is not allowed for this resource`);
      case 'lists':
        return method === 'GET'
          ? this.#list(url)
          : refusal(405, 'MethodNotAllowed', `${method} is not allowed for this resource`);
      case 'images':
        return this.#image(pathname);
      case 'agreements':
        return this.#agreement(method, pathname, body);
      case 'token':
      case 'none':
        return refusal(404, 'InvalidResourceType', `the emulator does not support ${method} ${pathname}`);
      default:
        break;
    }
    if (kind === 'deallocate' || kind === 'start') return this.#power(label, kind, pathname, fault);
    const { group, name } = pathOf(pathname);
    if (!this.#hasGroup(group))
      return refusal(404, 'ResourceGroupNotFound', `Resource group '${group}' could not be found.`);
    const at = { id: pathname, group, name, kind };
    switch (method) {
      case 'GET': {
        const found = this.#resources.get(pathname);
        const isExpanded = url.searchParams.get('$expand') === 'instanceView';
        return found
          ? answer(200, isExpanded ? withView(found) : reported(found))
          : refusal(404, 'ResourceNotFound', `The Resource '${name}' under resource group '${group}' was not found.`);
      }
      case 'PUT':
        return this.#resources.put(at, body, fault);
      case 'PATCH':
        return this.#resources.patch(at, body, fault);
      case 'DELETE':
        return this.#resources.delete(at, fault);
      default:
        return refusal(405, 'MethodNotAllowed', `${method} is not allowed for this resource`);
    }
  }

  #power({ method }: Label, what: 'deallocate' | 'start', path: string, fault: OperationFault): TransportResponse {
    return method === 'POST'
      ? this.#resources.power(path.replace(/\/[^/]+$/, ''), what, fault)
      : refusal(405, 'MethodNotAllowed', `${method} is not allowed for this resource`);
  }

  #list({ pathname, searchParams }: URL): TransportResponse {
    const [, kind = ''] = /\/([^/]+)$/.exec(pathname) ?? [];
    const { group } = pathOf(pathname);
    const [before = ''] = pathname.split(/\/(?:resourceGroups|providers)\//i);
    const { pageSize = Number.POSITIVE_INFINITY, origin = PUBLIC } = this.#options;
    const after = searchParams.get('$skiptoken') ?? '';
    const left = this.#resources
      .all()
      .filter(
        (each) =>
          each.kind.toLowerCase() === kind.toLowerCase() &&
          each.id.toLowerCase().startsWith(`${before.toLowerCase()}/`) &&
          (group === '' || each.group.toLowerCase() === group.toLowerCase()),
      )
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .filter(({ id }) => id > after);
    const some = left.slice(0, pageSize);
    const next = new URL(`${origin}${pathname}`);
    next.searchParams.set('api-version', searchParams.get('api-version') ?? '');
    next.searchParams.set('$skiptoken', some.at(-1)?.id ?? '');
    return answer(200, {
      value: some.map((each) => reported(each)),
      nextLink: some.length < left.length ? next.href : undefined,
    });
  }

  #hasGroup(group: string): boolean {
    const { groups } = this.#options;
    return groups === undefined || groups.some((each) => each.toLowerCase() === group.toLowerCase());
  }

  #operation(number: string): TransportResponse {
    const operation = this.#resources.operation(number);
    if (!operation) return refusal(404, 'NotFound', `The entity ${number} was not found.`);
    const { done, fail } = operation;
    if (!done) return answer(200, { name: number, status: 'InProgress' });
    if (!fail) return answer(200, { name: number, status: 'Succeeded' });
    const { code, message } = fail;
    return answer(200, { name: number, status: 'Failed', error: { code, message } });
  }

  #graph(body: string): TransportResponse {
    const { query, options } = graphBody.parse(JSON.parse(body));
    const rows = graphRows(query, this.#resources.seenByGraph());
    const { pageSize = Number.POSITIVE_INFINITY } = this.#options;
    // Each page continues after the last row of the previous page, even if rows were added or removed between the
    // requests.
    const after = options?.$skipToken === undefined ? '' : Buffer.from(options.$skipToken, 'base64url').toString();
    const left = rows.filter(({ key }) => key > after);
    const some = left.slice(0, pageSize);
    const data = some.map(({ row }) => row);
    const last = some.at(-1)?.key ?? '';
    const next = some.length < left.length ? { $skipToken: Buffer.from(last).toString('base64url') } : {};
    return answer(200, {
      totalRecords: rows.length,
      count: data.length,
      resultTruncated: 'false',
      data,
      facets: [],
      ...next,
    });
  }

  #image(path: string): TransportResponse {
    const [, publisher = '', offer = '', sku = '', version = ''] =
      /\/publishers\/([^/]+)\/artifacttypes\/vmimage\/offers\/([^/]+)\/skus\/([^/]+)\/versions\/([^/]+)$/i.exec(path) ??
      [];
    const plan = this.#options.plans?.[`${publisher}:${offer}:${sku}:${version}`];
    return answer(200, { id: path, name: version, location: 'everywhere', properties: plan ? { plan } : {} });
  }

  #agreement(method: string, path: string, body: string): TransportResponse {
    if (method === 'PUT') this.#accepted.put(path, { accepted: JSON.parse(body).properties?.accepted === true });
    const accepted = this.#accepted.get(path)?.accepted ?? false;
    return answer(200, { id: path, name: 'current', properties: { accepted, signature: 'signed' } });
  }
}

/** Returns the VM state that list responses contain. */
const stateOf = (state: string, power: string | undefined): string =>
  power === undefined || power === 'running' || state === 'Deleting' ? state : power;

const labelText = ({ method, path }: TransportRequest): string => {
  const { kind } = labelOf(method, new URL(path, PUBLIC).pathname);
  return `${method} ${kind}`;
};

const refusal = (
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): TransportResponse => answer(status, { error: { code, message } }, headers);
