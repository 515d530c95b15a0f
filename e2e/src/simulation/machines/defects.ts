import type { Logger, TransportRequest, TransportResponse, VirtualClock } from '@mcm/kube';
import { type Defect, DRAIN_TIMEOUT_MS } from './machine-world.ts';

/** Defects of a controller, with which tests verify the verifiers. */

type BrokenKube = NonNullable<Defect['kube']>;
type BrokenCloud = NonNullable<Defect['cloud']>;

const withBody = (request: TransportRequest, change: (body: string) => string): TransportRequest =>
  request.body === undefined ? request : { ...request, body: change(request.body) };

const isStatusOfMachine = ({ method, path }: TransportRequest): boolean =>
  method === 'PATCH' && /\/machines\/[^/]+\/status/.test(path);

/** Changes the text in each machine status that the controller writes. */
const saying =
  (change: (body: string, clock: VirtualClock) => string): BrokenKube =>
  (transport, clock) =>
  (request) =>
    transport(isStatusOfMachine(request) ? withBody(request, (body) => change(body, clock)) : request);

/** Sends each creation of a VM twice with different tokens, so the cloud creates two VMs. */
const tokenless = (): BrokenCloud => {
  const asked = new Set<string>();
  const fresh = (body: string): string =>
    body.replace(/"clientToken":"([^"]+)"/, (all, token: string) => {
      if (!asked.has(token)) {
        asked.add(token);
        return all;
      }
      asked.add(`${token} ${asked.size}`);
      return `"clientToken":"${token}-${asked.size}"`;
    });
  return (transport) => (request) => {
    const creates = request.method === 'POST' && request.path.startsWith('/v1/instances?');
    return transport(creates ? withBody(request, fresh) : request);
  };
};

/** Hides pods from the controller, so each node looks empty. */
const hidesPods: BrokenKube = (transport) => (request) => {
  const looks = request.method === 'GET' && /\/pods(\?|$)/.test(request.path);
  const { path } = request;
  return transport(
    looks
      ? { ...request, path: `${path}${path.includes('?') ? '&' : '?'}fieldSelector=metadata.name%3Dnone` }
      : request,
  );
};

const evictsNoPod: BrokenKube = (transport) => async (request) => {
  if (!request.path.endsWith('/eviction')) return transport(request);
  const answer = new Response('{"kind":"Status","apiVersion":"v1","status":"Success"}', {
    status: 201,
    headers: { 'content-type': 'application/json' },
  });
  return answer;
};

const jsonAnswer = (body: string, status = 200): TransportResponse =>
  new Response(body, { status, headers: { 'content-type': 'application/json' } });

const isVmDeletion = ({ method, path }: TransportRequest): boolean =>
  method === 'DELETE' && path.startsWith('/v1/instances/');

const deletesNoVm: BrokenCloud = (transport) => async (request) => {
  if (!isVmDeletion(request)) return transport(request);
  const { path, headers } = request;
  const found = await transport({ method: 'GET', path: path.split('?')[0] ?? path, headers });
  const text = await found.text();
  return jsonAnswer(text.replace(/"state":"[a-z-]+"/, '"state":"terminated"'), found.status);
};

const oneCallAtATime = (): BrokenCloud => {
  let last: Promise<unknown> = Promise.resolve();
  return (transport) => (request) => {
    const turn = last.then(() => transport(request));
    last = turn.catch(() => undefined);
    return turn;
  };
};

const isEviction = ({ method, path }: TransportRequest): boolean =>
  method === 'POST' && /\/pods\/[^/]+\/eviction$/.test(path);

/** Stops all other work of the controller during a drain. */
const blocksInDrains: BrokenKube = (transport, clock) => {
  let awake: Promise<void> = Promise.resolve();
  return async (request) => {
    if (request.method !== 'GET') await awake;
    if (isStatusOfMachine(request) && request.body?.includes('Waiting: pod'))
      awake = new Promise((resolve) => void clock.setTimeout(resolve, DRAIN_TIMEOUT_MS));
    return transport(request);
  };
};

const deletesPods: BrokenKube = (transport) => (request) => {
  if (!isEviction(request)) return transport(request);
  const { headers, path } = request;
  return transport({ method: 'DELETE', headers, path: path.replace(/\/eviction$/, '') });
};

const deletesBudgets: BrokenKube = (transport) => async (request) => {
  const answer = await transport(request);
  if (!isEviction(request) || answer.status !== 429) return answer;
  const [, namespace = ''] = /\/namespaces\/([^/]+)\//.exec(request.path) ?? [];
  const { headers } = request;
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
  await transport({ method: 'DELETE', headers: { ...headers, 'content-type': 'application/json' }, path });
  return transport(request);
};

/** Evicts pods from a node that is not being drained. */
const evictsFromAllNodes: BrokenKube = (transport) => async (request) => {
  const answer = await transport(request);
  if (!isStatusOfMachine(request)) return answer;
  const { headers } = request;
  const listed = await (await transport({ method: 'GET', headers, path: '/api/v1/pods' })).text();
  const { items } = JSON.parse(listed) as {
    items: { metadata: { name: string; namespace: string }; spec: { nodeName?: string } }[];
  };
  const pod = items.find(({ spec }) => spec.nodeName !== undefined);
  if (!pod) return answer;
  const { name, namespace } = pod.metadata;
  const body = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } });
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  await transport({ method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, path, body });
  return answer;
};

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

const hidesVolumes: BrokenKube = (transport) => async (request) => {
  const { path } = request;
  if (request.method !== 'GET') return transport(request);
  if (path.startsWith(ATTACHMENTS))
    return transport({
      ...request,
      path: `${path}${path.includes('?') ? '&' : '?'}fieldSelector=metadata.name%3Dnone`,
    });
  const answer = await transport(request);
  return path.startsWith('/api/v1/nodes') ? rewritten(answer, forgetVolumes) : answer;
};

const forgetVolumes = (text: string): string => text.replace(/"volumes(InUse|Attached)":/g, '"volumesUnseen$1":');

const rewritten = (answer: TransportResponse, change: (text: string) => string): TransportResponse => ({
  status: answer.status,
  headers: answer.headers,
  text: async () => change(await answer.text()),
  body: answer.body && changed(answer.body, change),
});

async function* changed(body: AsyncIterable<Uint8Array>, change: (text: string) => string): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(change(Buffer.from(chunk).toString()));
}

/** The possible times from an eviction to the end of the pod, in milliseconds. */
const ENDED_MS = [5_500, 6_500, 7_500];

/** Detaches volumes from a node after the end of a pod, even if another pod still uses them. */
const detachesMountedVolumes: BrokenKube = (transport, clock) => async (request) => {
  const answer = await transport(request);
  if (!isEviction(request) || answer.status >= 300) return answer;
  const headers = { ...request.headers, 'content-type': 'application/json' };
  const tear = async (): Promise<void> => {
    const listed = await (await transport({ method: 'GET', headers, path: ATTACHMENTS })).text();
    const { items } = JSON.parse(listed) as { items: { metadata: { name: string } }[] };
    for (const { metadata } of items)
      await transport({ method: 'DELETE', headers, path: `${ATTACHMENTS}/${metadata.name}` });
  };
  for (const ms of ENDED_MS) clock.setTimeout(() => void tear().catch(() => undefined), ms);
  return answer;
};

const leaksCredentials = (where: 'status' | 'event' | 'evidence' | 'log'): Defect => {
  let secret = '';
  const reported = (body: string): string => {
    if (secret === '') return body;
    if (where === 'evidence') return body.replace('"data":{', `"data":{"credentials":"${secret}",`);
    return body.replace(/"(description|message)":"/, `"$1":"${secret} `);
  };
  const tells: Readonly<Record<string, (request: TransportRequest) => boolean>> = {
    status: isStatusOfMachine,
    event: ({ method, path }) => method === 'POST' && path.endsWith('/events'),
    evidence: ({ method, path }) => method === 'POST' && path.endsWith('/configmaps'),
  };
  return {
    cloud: (transport) => (request) => {
      secret = (request.headers.authorization ?? '').replace('Bearer ', '');
      return transport(request);
    },
    kube: (transport) => (request) => transport(tells[where]?.(request) ? withBody(request, reported) : request),
    log: (log) => (where === 'log' ? new TattlingLog(log, () => secret) : log),
  };
};

class TattlingLog implements Logger {
  readonly #log: Logger;
  readonly #secret: () => string;

  constructor(log: Logger, secret: () => string) {
    this.#log = log;
    this.#secret = secret;
  }

  debug(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#log.debug(`${message} ${this.#secret()}`, fields);
  }

  info(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#log.info(`${message} ${this.#secret()}`, fields);
  }

  warn(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#log.warn(`${message} ${this.#secret()}`, fields);
  }

  error(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#log.error(`${message} ${this.#secret()}`, fields);
  }

  with(fields: Readonly<Record<string, unknown>>): Logger {
    return new TattlingLog(this.#log.with(fields), this.#secret);
  }
}

/** Repeats each write of a machine status forever: first with a wrong text, then with the correct text. */
const flipFlop: BrokenKube = (transport) => async (request) => {
  if (!isStatusOfMachine(request)) return transport(request);
  const late = withBody(request, (body) => body.replace(/,?"resourceVersion":"\d+"/, ''));
  for (let flips = 0; ; flips += 1) {
    const answer = await transport(withBody(late, (body) => body.replace(/"description":"/, `$&${flips % 2} `)));
    if (answer.status >= 300) return answer;
  }
};

export const DEFECTS = {
  tokenless: () => ({ cloud: tokenless() }),
  deletesNoVm: () => ({ cloud: deletesNoVm }),
  hidesPods: () => ({ kube: hidesPods }),
  evictsNoPod: () => ({ kube: evictsNoPod }),
  deletesPods: () => ({ kube: deletesPods }),
  deletesBudgets: () => ({ kube: deletesBudgets }),
  evictsFromAllNodes: () => ({ kube: evictsFromAllNodes }),
  hidesVolumes: () => ({ kube: hidesVolumes }),
  detachesMountedVolumes: () => ({ kube: detachesMountedVolumes }),
  hidesWaits: () => ({ kube: saying((body) => body.replaceAll('Waiting: ', 'Busy: ')) }),
  oneCallAtATime: () => ({ cloud: oneCallAtATime() }),
  blocksInDrains: () => ({ kube: blocksInDrains }),
  leaksInStatus: () => leaksCredentials('status'),
  leaksInEvents: () => leaksCredentials('event'),
  leaksInEvidence: () => leaksCredentials('evidence'),
  leaksInLogs: () => leaksCredentials('log'),
  flipFlop: () => ({ kube: flipFlop }),
  writesAlways: () => ({
    kube: saying((body, clock) => body.replaceAll('Waiting: pod', `Waiting: at ${clock.now().getTime()} pod`)),
  }),
} as const satisfies Readonly<Record<string, () => Defect>>;
