import { badRequest, internal } from '../apimachinery/errors/errors.ts';
import { pathSegmentProblems } from '../apimachinery/errors/names.ts';
import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import { plainFormat } from '../apimachinery/http/negotiate.ts';
import { refusal } from '../apimachinery/http/refusal.ts';
import { Warnings } from '../apimachinery/http/warnings.ts';
import type { Clock } from '../apimachinery/objects/clock.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import { type Status, StatusError } from '../apimachinery/objects/status.ts';
import type { Access, Authorizer, FieldDemand } from '../apimachinery/users/authorizer.ts';
import type { UserInfo } from '../apimachinery/users/user.ts';
import type { Authenticator } from '../auth/authentication/authenticator.ts';
import type { Registry } from '../resources/registry.ts';
import { parseDuration } from '../schema/cel/runtime/values.ts';
import { fieldDemands } from '../selectors/field-selector.ts';
import { answerStatus } from './answer.ts';
import type { RequestMetrics, Running } from './metrics/request-metrics.ts';
import { answerPath } from './path-handler.ts';
import { parsePath, type RequestInfo } from './request-info.ts';
import { ResourceHandler } from './resource-handler.ts';
import { verbOf } from './verb.ts';

/** An entry of the request log for one request. */
export interface RequestLogEntry {
  readonly time: string;
  readonly method: string;
  readonly path: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
  readonly code: number;
  readonly ms: number;
}

export interface HandlerParts {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly authorize: Authorizer;
  readonly clock: Clock;
  readonly impersonate?: (request: ServerRequest, user: UserInfo, access: Omit<Access, 'user'>) => UserInfo;
  readonly requestLog?: ((entry: RequestLogEntry) => void) | undefined;
  readonly metrics?: RequestMetrics;
}

const FLOW_SCHEMA_UID = '6b9a1f8e-8f5c-4b0a-9a52-3f5d9ee0c5a1';
const PRIORITY_LEVEL_UID = '0d3c7c2e-5a57-4a44-8f0e-7a5d4b7bb3f2';

const SELECTING: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

const LASTING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Refuses an invalid timeout before all other checks. */
function checkTimeout(request: ServerRequest, info: RequestInfo): void {
  const asked = request.query.get('timeout') ?? '';
  if (asked === '' || parseDuration(asked) !== undefined) return;
  if (info.isResource && (LASTING.has(info.subresource) || verbOf(request, info) === 'watch')) return;
  throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(asked)}`);
}

/** Returns the object name that a field selector requires. */
function selectedName(fields: readonly FieldDemand[]): string {
  const name = fields.find(({ field, equal }) => field === 'metadata.name' && equal)?.value ?? '';
  return pathSegmentProblems(name).length > 0 ? '' : name;
}

/** Handles requests: authentication, authorization, and routing. If a request fails, the response is a Status. */
export class Handler {
  readonly #parts: HandlerParts;
  readonly #resources: ResourceHandler;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
    this.#resources = new ResourceHandler(parts.registry);
  }

  /** The promise of `handle` never rejects. */
  async handle(request: ServerRequest): Promise<ServerResponse> {
    const { clock, requestLog, metrics } = this.#parts;
    const start = clock.now().getTime();
    const warnings: string[] = [];
    let info: RequestInfo | undefined;
    let response: ServerResponse;
    let running: Running | undefined;
    try {
      info = parsePath(request.path);
      running = metrics?.begin(request, info.isResource ? { ...info, verb: verbOf(request, info) } : undefined);
      response = await this.#answer(request, info, warnings);
    } catch (error) {
      response = answerStatus(statusOf(error), plainFormat(request), request);
    }
    if (requestLog !== undefined) {
      const now = clock.now();
      requestLog({
        time: now.toISOString(),
        method: request.method,
        path: request.path,
        verb: info?.isResource === true ? verbOf(request, info) : '',
        resource: info?.resource ?? '',
        subresource: info?.subresource ?? '',
        namespace: info?.namespace ?? '',
        name: info?.name ?? '',
        userAgent: request.header('user-agent') ?? '',
        code: response.status,
        ms: now.getTime() - start,
      });
    }
    running ??= metrics?.begin(request, undefined);
    response = running?.done(response) ?? response;
    return { ...response, headers: { ...this.#commonHeaders(request), ...response.headers }, warnings };
  }

  #commonHeaders(request: ServerRequest): Record<string, string> {
    return {
      'audit-id': request.header('audit-id') ?? this.#parts.registry.uid(),
      'cache-control': 'no-cache, private',
      'x-kubernetes-pf-flowschema-uid': FLOW_SCHEMA_UID,
      'x-kubernetes-pf-prioritylevel-uid': PRIORITY_LEVEL_UID,
    };
  }

  async #answer(request: ServerRequest, info: RequestInfo, warnings: string[]): Promise<ServerResponse> {
    const { registry, authenticator, authorize, impersonate } = this.#parts;
    checkTimeout(request, info);
    let user = authenticator.authenticate(request);
    const verb = info.isResource ? verbOf(request, info) : request.method.toLowerCase();
    const fields = info.isResource && SELECTING.has(verb) ? fieldDemands(request.query.get('fieldSelector') ?? '') : [];
    const access = defined({
      verb,
      path: info.isResource ? '' : request.path,
      group: info.group,
      version: info.version,
      resource: info.resource,
      subresource: info.subresource,
      namespace: info.namespace,
      // A list that selects one object by its name needs only the permission for this object. The deletion of such a
      // list needs the permission for all objects.
      name: info.name === '' && verb !== 'deletecollection' ? selectedName(fields) : info.name,
      fields: fields.length === 0 ? undefined : fields,
    });
    user = impersonate?.(request, user, access) ?? user;
    const verdict = authorize({ ...access, user });
    if (!verdict.allowed) throw refusal({ ...access, user }, verdict.reason);
    if (!info.isResource) return answerPath(request, info, registry, this.#parts.metrics);
    const { warn } = new Warnings(warnings);
    const userAgent = request.header('user-agent') ?? '';
    return this.#resources.handle(request, info, { user, userAgent, warn });
  }
}

/** The response to an unexpected error has the code 500. */
function statusOf(error: unknown): Status {
  if (error instanceof StatusError) return error.status;
  if (error instanceof RangeError && /call stack/.test(error.message)) {
    return badRequest('the object is nested too deeply').status;
  }
  return internal(error instanceof Error ? `internal error: ${error.message}` : 'internal error').status;
}
