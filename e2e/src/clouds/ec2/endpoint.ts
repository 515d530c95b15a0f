import type { Clock, Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import {
  assignPrefixes,
  describeImages,
  describeInstances,
  modifyInterface,
  runInstances,
  terminate,
} from './actions.ts';
import type { CloudImage, CloudInstance, LaunchAnswer, ScriptRule } from './model.ts';
import { readScope, type Scope } from './signature.ts';
import { answerXml, type Element, elements, errorXml, stsErrorXml, stsXml } from './xml.ts';

/** A request as it arrived. */
export interface SeenRequest {
  readonly action: string;
  /** All other form fields. */
  readonly params: Readonly<Record<string, string>>;
  /** Who signed it, and whether the signature is right for the secret key that the caller names. */
  readonly scope: Scope | undefined;
}

export interface Ec2EndpointOptions {
  readonly clock: Clock;
  readonly images?: readonly CloudImage[];
  readonly instances?: readonly CloudInstance[];
  readonly launch?: LaunchAnswer;
  readonly pageSize?: number;
  /** The second page's token is the first page's again. */
  readonly repeatToken?: boolean;
  readonly script?: readonly ScriptRule[];
  readonly cancelCaller?: () => void;
  /** New instances show after so long; default at once. */
  readonly visibleAfterMs?: number;
  /** A terminated instance goes on shutting down for so long; default for ever. */
  readonly shutdownMs?: number;
}

/** A refusal by the endpoint itself. */
export class Ec2Error extends Error {
  readonly http: number;
  readonly code: string;

  constructor(code: string, message: string, http = 400) {
    super(message);
    this.code = code;
    this.http = http;
  }
}

export type Params = Readonly<Record<string, string>>;

/** Values of `Prefix.1`, `Prefix.2`, … in order. */
export const listOf = (params: Params, prefix: string): string[] => {
  const found: string[] = [];
  for (let i = 1; params[`${prefix}.${i}`] !== undefined; i++) found.push(params[`${prefix}.${i}`] ?? '');
  return found;
};

/** Entries `Prefix.1.…`, each with its fields' names below it. */
export const entriesOf = (params: Params, prefix: string): Params[] => {
  const entries = new Map<number, Record<string, string>>();
  for (const [key, value] of Object.entries(params)) {
    const [, index, rest] = new RegExp(`^${prefix}\\.(\\d+)\\.(.+)$`).exec(key) ?? [];
    if (index === undefined || rest === undefined) continue;
    const entry = entries.get(Number(index)) ?? {};
    entry[rest] = value;
    entries.set(Number(index), entry);
  }
  return [...entries].toSorted(([a], [b]) => a - b).map(([, entry]) => entry);
};

/**
 * Enough of EC2 (Query API) and STS for the driver, in process: what it keeps is changed by requests as EC2 changes it, on
 * the clock given, with faults by a script. Launches are idempotent by their client token.
 */
export class Ec2Endpoint {
  readonly options: Ec2EndpointOptions;
  readonly instances: CloudInstance[];
  readonly seen: SeenRequest[] = [];
  /** Requests that each rule has met. */
  readonly #met = new Map<ScriptRule, number>();
  script: readonly ScriptRule[];
  launches = 0;

  constructor(options: Ec2EndpointOptions) {
    this.options = options;
    this.instances = structuredClone([...(options.instances ?? [])]);
    this.script = options.script ?? [];
  }

  get now(): number {
    return this.options.clock.now().getTime();
  }

  readonly transport: Transport = async (request) => {
    const form = Object.fromEntries(new URLSearchParams(request.body ?? ''));
    const { Action: action = '', ...params } = form;
    this.seen.push({ action, params, scope: readScope(request) });
    return this.#answer(action, params, request);
  };

  async #answer(action: string, params: Params, request: TransportRequest): Promise<TransportResponse> {
    const rule = this.#ruleFor(action, params);
    const requestId = `req-${String(this.seen.length).padStart(4, '0')}`;
    if (rule?.cancelCaller) this.options.cancelCaller?.();
    if (rule?.close) throw new Error('connection closed');
    if (rule?.raw) return response(rule.raw.http, rule.raw.contentType, rule.raw.body);
    if (rule?.error) return refusal(action, requestId, rule.error);
    let answer: TransportResponse;
    try {
      answer = this.#carryOut(action, params, requestId, rule);
    } catch (thrown) {
      if (!(thrown instanceof Ec2Error)) throw thrown;
      answer = refusal(action, requestId, { http: thrown.http, code: thrown.code, message: thrown.message });
    }
    if (rule?.lose) throw new Error('connection closed');
    request.signal?.throwIfAborted();
    return answer;
  }

  #carryOut(action: string, params: Params, requestId: string, rule: ScriptRule | undefined): TransportResponse {
    if (action === 'AssumeRoleWithWebIdentity')
      return response(200, 'text/xml', stsXml(action, requestId, TEMPORARY_KEYS));
    const body = ((): readonly Element[] => {
      switch (action) {
        case 'DescribeImages':
          return describeImages(this, params, rule);
        case 'DescribeInstances':
          return describeInstances(this, params, rule);
        case 'RunInstances':
          return runInstances(this, params);
        case 'TerminateInstances':
          return terminate(this, params);
        case 'ModifyNetworkInterfaceAttribute':
          return modifyInterface(this, params);
        case 'AssignIpv6Addresses':
          return assignPrefixes(this, params);
        default:
          throw new Ec2Error('InvalidAction', `The action ${action} is not valid for this web service.`);
      }
    })();
    return response(200, 'text/xml;charset=UTF-8', answerXml(action, requestId, body));
  }

  #ruleFor(action: string, params: Params): ScriptRule | undefined {
    for (const rule of this.script) {
      const by = listOf(params, 'InstanceId').length > 0 ? 'id' : 'tags';
      if (rule.action !== action || (rule.by !== undefined && rule.by !== by)) continue;
      const met = this.#met.get(rule) ?? 0;
      const [from, times] = [rule.after ?? 0, rule.times ?? Number.POSITIVE_INFINITY];
      if (met >= from + times) continue;
      this.#met.set(rule, met + 1);
      if (met >= from) return rule;
    }
    return undefined;
  }
}

const TEMPORARY_KEYS: readonly Element[] = [
  ['SubjectFromWebIdentityToken', 'sub'],
  [
    'Credentials',
    elements({
      AccessKeyId: 'ASIAFAKEWEBIDENTITY1',
      SecretAccessKey: 'fake-web-identity-secret',
      SessionToken: 'fake-session-token',
      Expiration: '2099-01-01T00:00:00Z',
    }),
  ],
];

function refusal(
  action: string,
  requestId: string,
  { http, code, message, retryAfter }: NonNullable<ScriptRule['error']>,
): TransportResponse {
  const sts = action === 'AssumeRoleWithWebIdentity';
  const body = sts ? stsErrorXml(requestId, code, message) : errorXml(requestId, code, message);
  return response(
    http,
    'text/xml;charset=UTF-8',
    body,
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  );
}

const response = (
  http: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): TransportResponse => ({
  status: http,
  headers: { get: (name) => ({ 'content-type': contentType, ...headers })[name.toLowerCase()] ?? null },
  text: async () => body,
  body: null,
});
