import type { Transport } from '@mcm/kube';

/** Kinds whose names say which object they are: Events, Leases, attachments of one volume to one node, the token of one machine's UID. */
const EXEMPT = /\/(events|leases|volumeattachments)(\/|\?|$)|\/secrets\/bootstrap-token-/;

interface Body {
  readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly preconditions?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly deleteOptions?: Body;
}

interface Operation {
  readonly op: string;
  readonly path: string;
}

const namesObject = ({ metadata, preconditions, deleteOptions }: Body): boolean =>
  [metadata, preconditions, deleteOptions?.preconditions].some(
    (bound) => bound?.uid !== undefined || bound?.resourceVersion !== undefined,
  );

const isBound = (body: Body | readonly Operation[]): boolean =>
  'some' in body ? body.some(({ op, path }) => op === 'test' && path === '/metadata/uid') : namesObject(body);

/**
 * Watches the writes of a controller under test. A controller that changes, evicts or deletes an object names the UID or the version
 * that it decided on, so that another object of the same name is refused.
 *
 * @returns `wrap` passes requests on; `unbound` lists the writes without a UID and without a version, each once.
 */
export function watchBoundWrites(): {
  readonly wrap: (transport: Transport) => Transport;
  readonly unbound: Set<string>;
} {
  const unbound = new Set<string>();
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const { method, path, body = '{}' } = request;
      const changes = ['PATCH', 'PUT', 'DELETE'].includes(method) || /\/eviction(\?|$)/.test(path);
      if (changes && !EXEMPT.test(path) && !isBound(JSON.parse(body))) unbound.add(`${method} ${path}`);
      return transport(request);
    };
  return { wrap, unbound };
}
