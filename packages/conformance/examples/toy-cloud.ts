import { handlerTransport, type Transport, VirtualClock } from '@mcm/kube';

export interface ToyServer {
  readonly id: string;
  readonly name: string;
  readonly cluster: string;
  readonly stopped?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
}

export const PAGE = 5;

type TagChanges = Readonly<Record<string, string | null>>;

interface ServerChange {
  readonly stopped?: boolean;
  readonly tags?: TagChanges;
}

/** Returns the tags of a server after a change. The value null removes a tag. */
const tagsOf = ({ tags }: ToyServer, change: TagChanges = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries({ ...tags, ...change }).filter((tag): tag is [string, string] => tag[1] !== null));

const json = (status: number, body: object): Response => Response.json(body, { status });
const refusal = (status: number, code: string): Response => json(status, { error: { code, message: code } });

/**
 * Opens a cloud in this process. The caller advances its clock. The requests of the cloud are:
 *
 * - `POST /servers`, idempotent by `token`
 * - `GET /servers?cluster=…&token=…&from=…` in pages, `GET /servers/<id>` and `DELETE /servers/<id>`
 * - `PUT /servers/<id>` with `stopped` or with changes of `tags`
 * - `GET /notices?cluster=…` and `DELETE /notices/<id>`
 */
export function openToyCloud() {
  const clock = new VirtualClock();
  const servers = new Map<string, ToyServer & { readonly token: string }>();
  /** The notices about servers that the cloud will end, by the ID of the notice. */
  const notices = new Map<string, { readonly server: string; readonly at: string; readonly endsAt: string }>();
  let made = 0;

  const post = async (request: Request): Promise<Response> => {
    const { name, cluster, token } = (await request.json()) as Record<'name' | 'cluster' | 'token', string>;
    const known = [...servers.values()].find((server) => server.token === token);
    const server = known ?? { id: `srv-${++made}`, name, cluster, token };
    servers.set(server.id, server);
    return json(200, server);
  };
  const list = (query: URLSearchParams): Response => {
    const from = Number(query.get('from') ?? 0);
    const matching = [...servers.values()].filter(
      ({ cluster, token }) => cluster === query.get('cluster') && token === (query.get('token') ?? token),
    );
    const next = from + PAGE < matching.length ? { next: from + PAGE } : {};
    return json(200, { servers: matching.slice(from, from + PAGE), ...next });
  };
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    if (request.headers.get('authorization') !== 'Bearer toy-token') return refusal(401, 'BadToken');
    if (pathname === '/servers') return request.method === 'POST' ? post(request) : list(searchParams);
    if (pathname === '/notices') {
      const mine = [...notices].filter(
        ([, { server }]) => servers.get(server)?.cluster === searchParams.get('cluster'),
      );
      return json(200, { notices: mine.map(([id, notice]) => ({ id, ...notice })) });
    }
    if (pathname.startsWith('/notices/')) {
      notices.delete(pathname.replace('/notices/', ''));
      return json(200, {});
    }
    // The body is read first, so that two simultaneous changes do not overwrite each other.
    const change = request.method === 'PUT' ? ((await request.json()) as ServerChange) : {};
    const server = servers.get(pathname.replace('/servers/', ''));
    if (!server) return refusal(404, 'NoSuchServer');
    if (request.method === 'DELETE') servers.delete(server.id);
    if (request.method !== 'PUT') return json(200, server);
    const changed = {
      ...server,
      stopped: change.stopped ?? server.stopped ?? false,
      tags: tagsOf(server, change.tags),
    };
    servers.set(server.id, changed);
    return json(200, changed);
  };

  const transport: Transport = handlerTransport(answer);
  return {
    clock,
    connect: () => transport,
    inventory: () => [...servers.keys()],
    /** Announces the end of a server. A driver reports the notice to the controller. */
    interrupt: (machineName: string, noticeMs: number) => {
      const server = [...servers.values()].find(({ name }) => name === machineName)?.id ?? '';
      const now = clock.now();
      const endsAt = new Date(now.getTime() + noticeMs).toISOString();
      notices.set(`notice-${notices.size + 1}`, { server, at: now.toISOString(), endsAt });
    },
    runUntil: (done: () => boolean, options: { readonly maxMs: number }) => clock.runUntil(done, options),
  };
}
