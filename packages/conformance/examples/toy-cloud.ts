import { handlerTransport, type Transport, VirtualClock } from '@mcm/kube';

export interface ToyServer {
  readonly id: string;
  readonly name: string;
  readonly cluster: string;
  readonly stopped?: boolean;
}

export const PAGE = 5;

const json = (status: number, body: object): Response => Response.json(body, { status });
const refusal = (status: number, code: string): Response => json(status, { error: { code, message: code } });

/**
 * Opens a cloud in this process with these requests: `POST /servers` (idempotent by `token`), `GET
 * /servers?cluster=…&token=…&from=…` in pages, `GET /servers/<id>`, `DELETE /servers/<id>`, `PUT /servers/<id>` with
 * `stopped`, `GET /notices?cluster=…` and `DELETE /notices/<id>`. The caller advances its clock.
 */
export function openToyCloud() {
  const clock = new VirtualClock();
  const servers = new Map<string, ToyServer & { readonly token: string }>();
  /** The announced ends of servers, by the ID of the notice. */
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
    const server = servers.get(pathname.replace('/servers/', ''));
    if (!server) return refusal(404, 'NoSuchServer');
    if (request.method === 'DELETE') servers.delete(server.id);
    if (request.method !== 'PUT') return json(200, server);
    const { stopped } = (await request.json()) as { readonly stopped: boolean };
    servers.set(server.id, { ...server, stopped });
    return json(200, { ...server, stopped });
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
