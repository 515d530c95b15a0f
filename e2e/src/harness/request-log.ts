import { closeSync, openSync, readSync, statSync } from 'node:fs';

export interface LoggedRequest {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
  readonly code: number;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const READS = new Set(['get', 'list']);

export interface Counts {
  readonly writes: number;
  readonly reads: number;
  readonly by: ReadonlyMap<string, number>;
}

/** Returns true if a controller has sent the request. */
export const ofControllers = (request: LoggedRequest): boolean => /^machine-controller/.test(request.userAgent);

/** Counts requests, except renewals of Leases and health checks of API servers. */
export function count(
  requests: readonly LoggedRequest[],
  whose: (request: LoggedRequest) => boolean = ofControllers,
): Counts {
  const by = new Map<string, number>();
  let writes = 0;
  let reads = 0;
  for (const request of requests) {
    if (request.resource === 'leases' || request.userAgent.endsWith('(reachability)') || !whose(request)) continue;
    const write = WRITES.has(request.verb);
    if (!write && !READS.has(request.verb)) continue;
    if (write) writes += 1;
    else reads += 1;
    const what = `${request.verb} ${request.resource}${request.subresource ? `/${request.subresource}` : ''}${request.code >= 400 ? ` → ${request.code}` : ''}`;
    by.set(what, (by.get(what) ?? 0) + 1);
  }
  return { writes, reads, by: new Map([...by].sort((a, b) => b[1] - a[1])) };
}

interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: Partial<Record<'resource' | 'subresource' | 'namespace' | 'name', string>>;
  readonly responseStatus?: { readonly code?: number };
}

/** Converts a line of kube-apiserver's audit log to a line of the control plane's request log. */
export function fromAudit(line: string): LoggedRequest {
  const { verb, userAgent = '', objectRef = {}, responseStatus = {} } = JSON.parse(line) as AuditEvent;
  const { resource = '', subresource = '', namespace = '', name = '' } = objectRef;
  return { verb, resource, subresource, namespace, name, userAgent, code: responseStatus.code ?? 0 };
}

/** Reads the new lines of a request log. */
export class RequestLogReader {
  readonly #file: string;
  readonly #parse: (line: string) => LoggedRequest;
  #offset = 0;
  #rest = '';

  constructor(file: string, parse = (line: string): LoggedRequest => JSON.parse(line)) {
    this.#file = file;
    this.#parse = parse;
  }

  read(): LoggedRequest[] {
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= this.#offset) return [];
    const buffer = Buffer.alloc(size - this.#offset);
    const file = openSync(this.#file, 'r');
    try {
      readSync(file, buffer, 0, buffer.length, this.#offset);
    } finally {
      closeSync(file);
    }
    this.#offset = size;
    const lines = (this.#rest + buffer.toString('utf8')).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line !== '').map(this.#parse);
  }
}
