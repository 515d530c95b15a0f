import type { Transport } from '../contract/transport.ts';

/** Kinds whose names say which object they are: Events, Leases, the token of one machine's UID. */
const EXEMPT = /\/(events|leases)(\/|\?|$)|\/secrets\/bootstrap-token-/;

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

/** Whether a deletion that was decided by an object's state names the version that had it. */
const isVersioned = ({ preconditions }: Body): boolean => preconditions?.resourceVersion !== undefined;

const isBound = (body: Body | readonly Operation[]): boolean =>
  'some' in body ? body.some(({ op, path }) => op === 'test' && path === '/metadata/uid') : namesObject(body);

/**
 * Watches the writes of a controller under test. Each change, eviction or deletion names the UID or the version of the object
 * that it was decided on. The server then refuses it for another object of the same name.
 *
 * @param byState Plural names of kinds whose objects are deleted because of their state. Their deletions name the version,
 *   so that an object which has changed since is kept.
 * @returns `wrap` passes requests on; `unbound` lists the writes that name neither, and the deletions without a version, each once.
 */
export function watchBoundWrites(byState: readonly string[]): {
  readonly wrap: (transport: Transport) => Transport;
  readonly unbound: Set<string>;
} {
  const unbound = new Set<string>();
  const ofState = new RegExp(`/(${byState.join('|')})/[^/?]+(\\?|$)`);
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const { method, path, body = '{}' } = request;
      const changes = ['PATCH', 'PUT', 'DELETE'].includes(method) || /\/eviction(\?|$)/.test(path);
      const parsed = JSON.parse(body);
      const isLoose = method === 'DELETE' && ofState.test(path) && !isVersioned(parsed);
      if (changes && !EXEMPT.test(path) && (isLoose || !isBound(parsed))) unbound.add(`${method} ${path}`);
      return transport(request);
    };
  return { wrap, unbound };
}
