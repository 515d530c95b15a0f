import { type Clock, sleep, type Transport, type TransportRequest, type TransportResponse } from '@mcm/kube';
import { Faults, type OperationFault } from '../faults/faults.ts';
import { BearerTokens, headerOf } from '../login/tokens.ts';
import type { Power } from '../machines/power.ts';
import { jsonAnswer as json } from '../server/answer.ts';
import type { Emulator, InterruptionOrder, ListedResource } from '../server/emulator.ts';
import type { EmulatorStore } from '../server/kept.ts';
import { API, labelsPrint, reported, reportedOperation } from './answers.ts';
import { answerFederation, type Federation } from './federation.ts';
import { FilterError, readFilter } from './filter.ts';
import { Instances } from './instances.ts';
import { exchangeAssertion, type ServiceAccountKey } from './login.ts';
import { type GceOperation, insertedBody, labelsBody } from './model.ts';

/** The options of an emulated Compute Engine endpoint. */
export interface GceEndpointOptions {
  readonly clock: Clock;
  readonly pageSize?: number | undefined;
  readonly operationMs?: number;
  readonly visibleAfterMs?: number;
  /** The service accounts that can log in. If `accounts` is undefined, requests need no token. */
  readonly accounts?: readonly ServiceAccountKey[] | undefined;
  /**
   * The identities that can log in without a service account key. If `federation` is undefined, every identity gets a
   * token.
   */
  readonly federation?: Federation | undefined;
  readonly power?: Power;
  readonly store?: EmulatorStore;
}

const ORIGIN = 'https://compute.googleapis.com';
const PATH =
  /^\/compute\/v1\/projects\/([^/]+)\/zones\/([^/]+)\/(instances|operations)(?:\/([^/]+?)(\/(?:wait|serialPort|stop|start|suspend|resume|setLabels))?)?$/;
const LONGEST_WAIT_MS = 120_000;
const TOKEN = '/token';
/** The power operations, each with the state of the instance before the operation and the state during it. */
const POWER: ReadonlyMap<
  string,
  { readonly from: string; readonly during: string; readonly operationType: GceOperation['operationType'] }
> = new Map([
  ['stop', { from: 'RUNNING', during: 'STOPPING', operationType: 'stop' }],
  ['suspend', { from: 'RUNNING', during: 'SUSPENDING', operationType: 'suspend' }],
  ['start', { from: 'TERMINATED', during: 'STAGING', operationType: 'start' }],
  ['resume', { from: 'SUSPENDED', during: 'STAGING', operationType: 'start' }],
]);

/**
 * Emulates the part of Compute Engine's REST API that the driver uses: instances, the operations that create and delete
 * them, and logins.
 */
export class GceEndpoint implements Emulator {
  readonly faults: Faults;
  readonly counts = new Map<string, number>();
  readonly transport: Transport;
  readonly #instances: Instances;
  readonly #options: GceEndpointOptions;
  readonly #tokens: BearerTokens;

  constructor(options: GceEndpointOptions) {
    this.#options = options;
    this.#instances = new Instances(options);
    this.faults = new Faults(options.clock);
    this.#tokens = new BearerTokens(options.clock, JSON.stringify(options.accounts ?? []));
    this.transport = this.faults.before((request, fault) => this.#receive(request, fault), labelOf, {
      refuse: (_, { status, code, message, retryAfter }) => refusal(status, code, message, retryAfter),
      throttle: (_, retryAfter) => refusal(403, 'rateLimitExceeded', 'Rate Limit Exceeded', retryAfter),
    });
  }

  names(): readonly string[] {
    this.#instances.settle();
    return this.#instances.instances.values().map(({ name }) => name);
  }

  resources(): readonly ListedResource[] {
    this.#instances.settle();
    const { instances, disks } = this.#instances;
    return [
      ...instances.values().map(({ id, name, status }) => ({ kind: 'instance', id, name, state: status })),
      ...disks.values().map(({ name, zone, instance }) => ({
        kind: 'disk',
        id: `${zone}/${name}`,
        name,
        state: instance === undefined ? 'unattached' : 'attached',
      })),
    ];
  }

  interrupt(name: string, order: InterruptionOrder): boolean {
    this.#instances.settle();
    return this.#instances.interrupt(name, order);
  }

  /** Adds an instance that a user created without the driver. */
  place(project: string, zone: string, body: object): void {
    const made = this.#instances.add(project, zone, insertedBody.parse(body));
    this.#instances.keep({ ...made, status: 'RUNNING' });
  }

  resume(): void {
    this.#instances.resume();
  }

  async #receive(request: TransportRequest, fault: OperationFault): Promise<TransportResponse> {
    const label = labelOf(request);
    this.counts.set(label, (this.counts.get(label) ?? 0) + 1);
    const { method, path, body = '', headers } = request;
    const url = new URL(path, ORIGIN);
    const { accounts, clock, federation } = this.#options;
    if (url.pathname === TOKEN && method === 'POST') return exchangeAssertion(body, accounts, clock, this.#tokens);
    const login = answerFederation(request, federation, clock, this.#tokens);
    if (login) return login;
    if (accounts && !this.#tokens.admits(headerOf(headers, 'authorization')))
      return refusal(401, 'authError', 'Request had invalid authentication credentials.');
    const [, project = '', zone = '', kind = '', name = '', wait = ''] = (PATH.exec(url.pathname) ?? []).map(
      (each = '') => decodeURIComponent(each),
    );
    this.#instances.settle();
    const at = { project, zone };
    const requestId = url.searchParams.get('requestId') ?? undefined;
    switch (`${method} ${kind}${name === '' ? '' : '/'}${wait}`) {
      case 'GET operations/':
        return this.#operation(name);
      case 'POST operations//wait':
        return this.#wait(name, request.signal);
      case 'POST instances':
        return this.#insert(at, body, requestId, fault);
      case 'GET instances':
        return this.#list(at, url.searchParams);
      case 'GET instances/':
        return this.#get(at, name);
      case 'GET instances//serialPort':
        return this.#serialPort(at, name, url.searchParams);
      case 'POST instances//stop':
      case 'POST instances//start':
      case 'POST instances//suspend':
      case 'POST instances//resume':
        return this.#power(at, name, wait.slice(1), requestId, fault);
      case 'POST instances//setLabels':
        return this.#setLabels(at, name, body, fault);
      case 'DELETE instances/':
        return this.#delete(at, name, requestId, fault);
      default:
        return refusal(404, 'notFound', `there is no ${method} ${url.pathname}`);
    }
  }

  #operation(name: string): TransportResponse {
    const operation = this.#instances.operation(name);
    return operation ? json(200, reportedOperation(operation)) : absent(name);
  }

  /** Waits for an operation and returns it when the operation is done, or after two minutes. */
  async #wait(name: string, signal: AbortSignal | undefined): Promise<TransportResponse> {
    const operation = this.#instances.operation(name);
    const left = (operation?.doneAt ?? 0) - this.#instances.now();
    if (left > 0) await sleep(this.#options.clock, Math.min(left, LONGEST_WAIT_MS), signal);
    this.#instances.settle();
    return this.#operation(name);
  }

  /** Starts the insertion of an instance, and reserves its name immediately. */
  #insert(
    { project, zone }: { project: string; zone: string },
    body: string,
    requestId: string | undefined,
    fault: OperationFault,
  ): TransportResponse {
    const known = this.#instances.operationOf(requestId);
    if (known) return json(200, reportedOperation(known));
    const parsed = insertedBody.safeParse(JSON.parse(body));
    if (!parsed.success)
      return refusal(400, 'invalid', `Invalid value for field 'resource': ${parsed.error.issues[0]?.message ?? ''}`);
    const { name } = parsed.data;
    if (this.#instances.get(project, zone, name))
      return refusal(
        409,
        'alreadyExists',
        `The resource 'projects/${project}/zones/${zone}/instances/${name}' already exists`,
      );
    const made = this.#instances.add(project, zone, parsed.data);
    if (fault.visibleAfterMs !== undefined)
      this.#instances.keep({ ...made, listedFrom: this.#instances.now() + fault.visibleAfterMs });
    return this.#begin({ project, zone, instance: name, operationType: 'insert' }, requestId, fault);
  }

  #delete(
    { project, zone }: { project: string; zone: string },
    name: string,
    requestId: string | undefined,
    fault: OperationFault,
  ): TransportResponse {
    const known = this.#instances.operationOf(requestId);
    if (known) return json(200, reportedOperation(known));
    const found = this.#instances.get(project, zone, name);
    if (!found) return absent(`projects/${project}/zones/${zone}/instances/${name}`);
    if (found.body.deletionProtection)
      return refusal(400, 'invalid', `Invalid resource usage: 'Resource cannot be deleted if it's protected.'`);
    this.#instances.keep({ ...found, status: 'STOPPING' });
    return this.#begin({ project, zone, instance: name, operationType: 'delete' }, requestId, fault);
  }

  #power(
    { project, zone }: { project: string; zone: string },
    name: string,
    verb: string,
    requestId: string | undefined,
    fault: OperationFault,
  ): TransportResponse {
    const found = this.#instances.get(project, zone, name);
    if (!found) return absent(`projects/${project}/zones/${zone}/instances/${name}`);
    const change = POWER.get(verb);
    if (!change || found.status !== change.from)
      return refusal(400, 'resourceNotReady', `The instance '${name}' is ${found.status}, so it cannot ${verb}.`);
    this.#instances.changePower({ ...found, status: change.during });
    const { operationType } = change;
    return this.#begin({ project, zone, instance: name, operationType }, requestId, fault);
  }

  #setLabels(
    { project, zone }: { project: string; zone: string },
    name: string,
    body: string,
    fault: OperationFault,
  ): TransportResponse {
    const found = this.#instances.get(project, zone, name);
    if (!found) return absent(`projects/${project}/zones/${zone}/instances/${name}`);
    const parsed = labelsBody.safeParse(JSON.parse(body));
    if (!parsed.success) return refusal(400, 'invalid', parsed.error.message);
    const { labels, labelFingerprint } = parsed.data;
    if (labelFingerprint !== labelsPrint(found))
      return refusal(412, 'conditionNotMet', 'Labels fingerprint either invalid or resource labels have changed');
    this.#instances.keep({ ...found, body: { ...found.body, labels } });
    return this.#begin({ project, zone, instance: name, operationType: 'setLabels' }, undefined, fault);
  }

  #begin(
    operation: Pick<GceOperation, 'project' | 'zone' | 'instance' | 'operationType'>,
    requestId: string | undefined,
    { failOperation, operationMs, visibleAfterMs }: OperationFault,
  ): TransportResponse {
    const { code, message, leave } = failOperation ?? {};
    const begun = this.#instances.begin(
      {
        ...operation,
        requestId,
        visibleAfterMs,
        errors: code === undefined ? undefined : [{ code, message: message ?? '' }],
        leave: code === undefined ? undefined : (leave ?? false),
      },
      operationMs ?? this.#options.operationMs ?? 12_000,
    );
    return json(200, reportedOperation(begun));
  }

  #get({ project, zone }: { project: string; zone: string }, name: string): TransportResponse {
    const found = this.#instances.get(project, zone, name);
    return found ? json(200, reported(found)) : absent(`projects/${project}/zones/${zone}/instances/${name}`);
  }

  /** Returns the output of the serial port of a VM. A negative `start` is a position from the end of the output. */
  #serialPort(
    { project, zone }: { project: string; zone: string },
    name: string,
    query: URLSearchParams,
  ): TransportResponse {
    const found = this.#instances.get(project, zone, name);
    const path = `projects/${project}/zones/${zone}/instances/${name}`;
    if (!found) return absent(path);
    if (found.status !== 'RUNNING') return refusal(400, 'resourceNotReady', `The resource '${path}' is not ready`);
    const port = query.get('port') ?? '1';
    if (!/^[1-4]$/.test(port)) return refusal(400, 'invalid', `Invalid value for field 'port': '${port}'.`);
    const all = Buffer.from(port === '1' ? (this.#options.power?.console?.(found.id) ?? '') : '');
    const from = Number(query.get('start') ?? 0);
    const start = Math.min(Math.max(from < 0 ? all.length + from : from, 0), all.length);
    return json(200, {
      kind: 'compute#serialPortOutput',
      selfLink: `${API}/${path}/serialPort`,
      contents: all.subarray(start).toString(),
      start: String(start),
      next: String(all.length),
    });
  }

  #list({ project, zone }: { project: string; zone: string }, query: URLSearchParams): TransportResponse {
    const { pageSize = 500 } = this.#options;
    const size = Math.min(pageSize, Number(query.get('maxResults') ?? pageSize));
    // Each page starts after the last row of the page before, even if instances were removed between the requests.
    const after = BigInt(query.get('pageToken') ?? 0);
    const all = this.#instances.listed().filter((each) => each.zone === zone && each.project === project);
    const filter = query.get('filter') ?? '';
    let fits: (item: object) => boolean;
    try {
      fits = filter === '' ? () => true : readFilter(filter);
    } catch (thrown) {
      if (thrown instanceof FilterError) return refusal(400, 'invalid', thrown.message);
      throw thrown;
    }
    const left = all.filter((each) => BigInt(each.id) > after && (filter === '' || fits(reported(each))));
    const some = left.slice(0, size);
    const next = some.length < left.length ? { nextPageToken: some.at(-1)?.id ?? '' } : {};
    const items = some.map(reported);
    const id = `projects/${project}/zones/${zone}/instances`;
    return json(200, {
      kind: 'compute#instanceList',
      id,
      selfLink: `${API}/${id}`,
      items: items.length > 0 ? items : undefined,
      ...next,
    });
  }
}

const labelOf = ({ method, path }: TransportRequest): string => {
  const { pathname } = new URL(path, ORIGIN);
  return `${method} ${pathname === TOKEN ? 'token' : (PATH.exec(pathname)?.[3] ?? 'none')}`;
};

const absent = (what: string): TransportResponse => refusal(404, 'notFound', `The resource '${what}' was not found`);

const refusal = (status: number, reason: string, message: string, retryAfter?: number): TransportResponse =>
  json(
    status,
    { error: { code: status, message, errors: [{ reason, message, domain: 'global' }] } },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  );
