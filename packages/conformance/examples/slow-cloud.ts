import { handlerTransport, seededRandom, VirtualClock } from '@mcm/kube';

export interface SlowResource {
  readonly name: string;
  readonly cluster: string;
  readonly state: 'creating' | 'ready' | 'deleting';
}

const PAGE = 5;
const LONGEST_MS = 60_000;
const PATH = /^\/(servers|disks)(?:\/([^/]+)\/([^/]+))?$/;

const refusal = (status: number, code: string): Response =>
  Response.json({ error: { code, message: code } }, { status });

/**
 * Opens an asynchronous cloud in this process:
 * - `POST /servers` and `DELETE /servers/CLUSTER/NAME` respond immediately. The creation or deletion then takes up to a
 *   minute.
 * - `GET /servers?cluster=…&from=…` and `GET /servers/CLUSTER/NAME` return the state.
 * - `/disks` has the same requests as `/servers`. A server needs a ready disk with the name of the server.
 * - During a creation or deletion, the cloud refuses another change with `Busy`.
 * @param seed Determines the duration of each creation and deletion.
 * @param longestMs Maximum duration of a creation or deletion.
 * @param hidesCreations If true, a server or disk appears only at the end of its creation.
 */
export function openSlowCloud(seed = 1, longestMs = LONGEST_MS, hidesCreations = false) {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const kinds = { servers: new Map<string, SlowResource>(), disks: new Map<string, SlowResource>() };

  const isShown = ({ state }: SlowResource): boolean => !hidesCreations || state !== 'creating';

  const later = (work: () => void): void => void clock.setTimeout(work, random.next() * longestMs);

  async function create(kind: keyof typeof kinds, request: Request): Promise<Response> {
    const { name, cluster } = (await request.json()) as Record<'name' | 'cluster', string>;
    const key = `${cluster}/${name}`;
    if (kinds[kind].has(key)) return refusal(409, 'Exists');
    if (kind === 'servers' && kinds.disks.get(key)?.state !== 'ready') return refusal(409, 'Busy');
    const made: SlowResource = { name, cluster, state: 'creating' };
    kinds[kind].set(key, made);
    later(() => kinds[kind].set(key, { ...made, state: 'ready' }));
    return Response.json(made, { status: 202 });
  }

  function remove(kind: keyof typeof kinds, key: string, found: SlowResource): Response {
    if (found.state !== 'ready' || (kind === 'disks' && kinds.servers.has(key))) return refusal(409, 'Busy');
    kinds[kind].set(key, { ...found, state: 'deleting' });
    later(() => kinds[kind].delete(key));
    return Response.json({}, { status: 202 });
  }

  function list(kind: keyof typeof kinds, query: URLSearchParams): Response {
    const from = Number(query.get('from') ?? 0);
    const all = [...kinds[kind].values()].filter((each) => isShown(each) && each.cluster === query.get('cluster'));
    const next = from + PAGE < all.length ? { next: from + PAGE } : {};
    return Response.json({ items: all.slice(from, from + PAGE), ...next });
  }

  async function answer(request: Request): Promise<Response> {
    if (request.headers.get('authorization') !== 'Bearer slow-token') return refusal(401, 'BadToken');
    const { pathname, searchParams } = new URL(request.url);
    const [, kind, cluster, name] = PATH.exec(pathname) ?? [];
    if (kind !== 'servers' && kind !== 'disks') return refusal(400, 'NoSuchPath');
    if (name === undefined) return request.method === 'POST' ? create(kind, request) : list(kind, searchParams);
    const key = `${cluster}/${name}`;
    const found = kinds[kind].get(key);
    if (!found || !isShown(found)) return refusal(404, 'NotThere');
    return request.method === 'DELETE' ? remove(kind, key, found) : Response.json(found);
  }

  const transport = handlerTransport(answer);
  return {
    clock,
    connect: () => transport,
    inventory: () =>
      Object.entries(kinds).flatMap(([kind, all]) =>
        [...all].filter(([, each]) => isShown(each)).map(([key]) => `${kind}/${key}`),
      ),
    runUntil: (done: () => boolean, options: { readonly maxMs: number }) => clock.runUntil(done, options),
  };
}
